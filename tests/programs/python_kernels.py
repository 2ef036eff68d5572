"""Operators whose kernels are in Python: an error inside goes through Python and out of the operator around.

One way passes errors on, the other handles them: what is handled inside an operator is none.
"""

import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

TIMES = 50

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")


class PassingOn(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        return function(*arguments, **(keywords or {}))


class Handling(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        try:
            return function(*arguments, **(keywords or {}))
        except (NotImplementedError, RuntimeError):
            return meta


raised = 0
for mode in (contextlib.nullcontext(), PassingOn(), Handling()):
    with mode:
        for _ in range(TIMES):
            try:
                cpu.copy_(meta)
            except NotImplementedError:
                raised += 1
        for _ in range(TIMES):
            try:
                torch.add(cpu, meta)  # its kernel for meta tensors is in Python, and raises there
            except RuntimeError:
                raised += 1
print(raised, "raised")
