"""Stands in for torch under Pythons that have none: what hook/python knows a tensor and a module by, no more.

This folder counts as torch's, so its frames are torch's.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from types import ModuleType


class TensorBase:
    """torch._C.TensorBase."""


class Tensor(TensorBase):
    """torch.Tensor."""


class Parameter(Tensor):
    """torch.nn.Parameter."""


class Module:
    """torch.nn.Module: what it registers, and the frame in which it is called."""

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks"):
            object.__setattr__(self, name, OrderedDict() if name == "_forward_hooks" else {})

    def __setattr__(self, name: str, value: object) -> None:
        registered = {Parameter: self._parameters, Module: self._modules}
        for type_, members in registered.items():
            if isinstance(value, type_):
                members[name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> object:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                return members[name]
        raise AttributeError(name)

    def _call_impl(self, *args: object, **kwargs: object) -> object:
        def inner() -> object:
            return self.forward(*args, **kwargs)  # so that `self` is shared with another function, as in torch

        return inner()

    __call__ = _call_impl


def _module(name: str, **members: object) -> None:
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(members)


_module("torch._C", TensorBase=TensorBase)
_module("torch.nn.modules.module", Module=Module)
