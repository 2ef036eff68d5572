"""An extension whose threads run operators while it keeps the GIL, and then without keeping it.

usage: keeps_the_gil.py LIBRARY
"""

import ctypes
import sys

import torch

THREADS, CALLS = 6, 200


def thread_states():
    """How many Python has, of all threads."""
    python = ctypes.pythonapi
    for name in ("PyInterpreterState_Get", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
        getattr(python, name).restype = ctypes.c_void_p
    count, state = 0, python.PyInterpreterState_ThreadHead(ctypes.c_void_p(python.PyInterpreterState_Get()))
    while state:
        count, state = count + 1, python.PyThreadState_Next(ctypes.c_void_p(state))
    return count


torch.mm(torch.ones(2, 2), torch.empty(2, 2, device="meta"))
print("thread states", thread_states())
for kept, library in ((True, ctypes.PyDLL(sys.argv[1])), (False, ctypes.CDLL(sys.argv[1]))):
    made = library.run_operators(THREADS, CALLS)
    print("GIL kept", kept, "states made", made, "thread states", thread_states())
