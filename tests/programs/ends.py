"""Ways to end a Python program after a finding.

usage: ends.py exit-now | exit-code | error | finding
"""

import atexit
import contextlib
import os
import sys
import threading

import torch

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")


def attempt():
    with contextlib.suppress(NotImplementedError):
        meta.cpu()


def leave_thread():
    attempt()
    raise SystemExit("said by nobody")


def fail_in_thread():
    meta.cpu()


def main(how):
    atexit.register(lambda: (attempt(), print("a handler of exit", flush=True)))
    attempt()
    if how == "exit-now":
        print("before os._exit", flush=True)
        os._exit(9)
    for work in (leave_thread, fail_in_thread):
        thread = threading.Thread(target=work, name=work.__name__)
        thread.start()
        thread.join()
    if how == "exit-code":
        sys.exit(3)
    if how == "error":
        raise LookupError("not ours") from ValueError("the cause")
    if how == "finding":
        meta.cpu()


main(sys.argv[1])
