"""The probe's names, as seen from the program that asks. This folder counts as torch's: its frames have no names."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, NamedTuple

import probe

probe.prefix(str(Path(__file__).parent))
for _library in (probe.released, probe.kept):
    _library.probe_names.restype = probe.ctypes.c_void_p
    _library.probe_names_cost.restype = probe.ctypes.c_double
    _library.probe_names_cost.argtypes = [probe.ctypes.c_void_p, probe.ctypes.c_int]
    _library.probe_storage.argtypes = [probe.ctypes.c_void_p, probe.ctypes.c_void_p]


class Named(NamedTuple):
    """What hook/python says of one tensor."""

    name: str
    frame: int  # 0: the caller's
    path: str
    is_: set[str]  # of: object, parameter, buffer, attribute


class Answer(NamedTuple):
    """What hook/python says of a question."""

    tensors: list[Named]
    module: tuple[str, str] | None  # path and class


def storage(tensor: object) -> int:
    """Identity of a tensor's storage; 0 for the stand-in's, which have none."""
    return tensor.untyped_storage()._cdata if "torch" in sys.modules else 0


def register() -> None:
    """Makes the storages of all tensors that there are known to the probe."""
    for one in gc.get_objects():
        if issubclass(type(one), sys.modules["torch"].Tensor):
            probe.released.probe_storage(id(one), storage(one))


class Question:
    """Made beforehand, so that nothing but the question itself happens when it is put."""

    def __init__(self, *tensors: object, objects: bool = True) -> None:
        """By identity and storage, or by storage alone."""
        addresses = probe.ctypes.c_void_p * max(len(tensors), 1)
        self.arguments = (
            addresses(*map(id, tensors)) if objects else None,
            addresses(*map(storage, tensors)),
            len(tensors),
        )
        self.address = None

    def put(self) -> Question:
        """To the probe."""
        probe.released.probe_free(self.address)
        self.address = probe.released.probe_names(*self.arguments)
        return self

    def answer(self) -> Answer:
        """What was answered last."""
        text = probe.ctypes.string_at(self.address).decode("utf-8", "surrogateescape")
        records, module = text.split("\x1d")
        found = []
        for record in records.split("\x1e")[:-1]:
            name, frame, path, flags = record.split("\x1f")
            found.append(Named(name, int(frame), path, set(flags.split())))
        return Answer(found, tuple(module.split("\x1f")) if module else None)


def ask(*tensors: object, objects: bool = True) -> Answer:
    """Names in the caller's frames."""
    tensors, module = Question(*tensors, objects=objects).put().answer()
    below = 2  # this frame and `put`'s
    return Answer([one._replace(frame=one.frame - below if one.name else -1) for one in tensors], module)


def name(tensor: object) -> str:
    """The name alone."""
    return ask(tensor).tensors[0].name


def name_at(address: int) -> str:
    """Of the tensor with this id, which the caller holds."""
    question = Question(None)
    question.arguments[0][0] = address
    return question.put().answer().tensors[0].name


@contextlib.contextmanager
def spy(holder: object, function: str) -> Iterator[list[Answer]]:
    """Has each call of a function of torch's first ask for the names of its tensors."""
    original: Callable = getattr(holder, function)
    seen: list[Answer] = []

    def asked(*arguments: object, **named: object) -> object:
        tensors = [one for one in (*arguments, *named.values()) if hasattr(one, "untyped_storage")]
        register()
        seen.append(ask(*tensors))
        return original(*arguments, **named)

    setattr(holder, function, asked)
    try:
        yield seen
    finally:
        setattr(holder, function, original)
