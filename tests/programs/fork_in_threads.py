"""Forks while other threads run operators and make findings, old ones and new ones.

usage: fork_in_threads.py CHILDREN
Every child makes one finding of its own and ends with 7. Prints how many did; the file "raised" gets the number of
errors that the parent's threads made. Of the operators that meet a meta tensor, copy_ takes no lock of Python's.
"""

import os
import sys
import threading
from pathlib import Path

import torch

THREADS, PLACES = 4, 400

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")
# Each a place of its own, and so a finding that is new while the main thread forks.
WORK = "try: cpu.copy_(meta)\nexcept NotImplementedError: pass"
places = [compile(WORK, f"place-{number}.py", "exec") for number in range(PLACES)]
stop = threading.Event()
raised = [0] * THREADS


def work(thread):
    while not stop.is_set():
        exec(places[(raised[thread] * THREADS + thread) % PLACES], globals())
        torch.ones(100).add_(1)
        raised[thread] += 1


def child():
    try:
        cpu.copy_(meta)
    except NotImplementedError:
        os._exit(7)


def fork():
    pid = os.fork()
    if pid == 0:
        child()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
codes = [fork() for _ in range(int(sys.argv[1]))]
# Also from a thread that is no main thread.
forking = threading.Thread(target=lambda: codes.append(fork()))
forking.start()
forking.join()
stop.set()
for thread in threads:
    thread.join()
Path("raised").write_text(str(sum(raised)), encoding="utf-8")
print(codes.count(7), "of", len(codes), "children ended with 7")
