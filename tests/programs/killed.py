"""Makes findings until it is killed: the processes that it forks first, one after the other, and then itself.

usage: killed.py CHILD...      CHILD: after how many milliseconds it is killed
Each process writes its stderr to a file stderr-PID of its own, and in the file calls-PID, after each call, how often it
has called the one place that it comes back to.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import torch

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")


places = [compile("\n" * number + "cpu.copy_(meta)", "new.py", "exec") for number in range(2000)]


def new_place(number):
    with contextlib.suppress(NotImplementedError):
        exec(places[number % len(places)], globals())


def old_place():
    with contextlib.suppress(NotImplementedError):
        meta.cpu()


def work_until_killed():
    os.dup2(os.open(f"stderr-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    calls = os.open(f"calls-{os.getpid()}", os.O_RDWR | os.O_CREAT, 0o600)
    number = 0
    while True:
        new_place(number)
        old_place()
        number += 1
        os.pwrite(calls, b"%d" % number, 0)


for milliseconds in map(int, sys.argv[1:]):
    child = os.fork()
    if child == 0:
        work_until_killed()
    calls = Path(f"calls-{child}")
    while not (calls.exists() and calls.stat().st_size):
        time.sleep(0.001)
    time.sleep(milliseconds / 1000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print("the children are dead", flush=True)
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
work_until_killed()
