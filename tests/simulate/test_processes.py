"""Simulated GPUs in more than one process."""

from __future__ import annotations

from pathlib import Path

FORK = """
import gc, os, torch
values = torch.arange(4.0).cuda()
child = os.fork()
if not child:
    try:
        torch.zeros(1).cuda()
    except RuntimeError as error:
        print(str(error).split(".")[0], flush=True)
    del values
    gc.collect()
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), values.cpu().tolist())
"""


def test_a_forked_child_may_not_use_cuda_and_does_no_harm(simulated) -> None:
    done = simulated("-c", FORK)
    assert done.stdout == ("Cannot re-initialize CUDA in forked subprocess\n3 [0.0, 1.0, 2.0, 3.0]\n"), done.stderr


FORK_BEFORE = """
import os, torch
child = os.fork()
print(torch.ones(2).cuda().sum().shape, flush=True)
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_parent_and_child_may_use_cuda_after_a_fork_before_it(simulated) -> None:
    assert simulated("-c", FORK_BEFORE).stdout == "torch.Size([])\n" * 2


DRIVER_IN_CHILD = """
import ctypes, os
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cudaSetDevice(0) == 0
child = os.fork()
if not child:
    os._exit(driver.cudaFree(None))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_gets_the_error_of_cuda(simulated) -> None:
    assert simulated("-c", DRIVER_IN_CHILD).stdout == "3\n"


SHARE = """
import torch, torch.multiprocessing as multiprocessing

def change(tensors, done):
    tensor = tensors.get()
    print(tensor.device, tensor.tolist(), flush=True)
    tensor.copy_(torch.full((4,), 7.0))
    del tensor
    done.set()

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    tensors, done = spawn.Queue(), spawn.Event()
    process = spawn.Process(target=change, args=(tensors, done))
    process.start()
    tensor = torch.arange(4.0).to("cuda:1")
    tensors.put(tensor)
    done.wait()
    process.join()
    print(tensor.tolist(), process.exitcode)
"""


def test_memory_is_shared_between_processes(simulated, tmp_path: Path) -> None:
    script = tmp_path / "share.py"
    script.write_text(SHARE)
    assert simulated(script).stdout == "cuda:1 [0.0, 1.0, 2.0, 3.0]\n[7.0, 7.0, 7.0, 7.0] 0\n"


THREADS = """
import threading, torch
from torch import nn

failures = []

def work(number):
    try:
        device = f"cuda:{number % 2}"
        with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                values = torch.randn(100, 100)
                assert torch.equal(values.to(device).cpu(), values)
                nn.Linear(100, 10).to(device)(values.to(device)).sum().backward()
                if _ % 10 == 0:
                    torch.cuda.empty_cache()
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures)
"""


def test_threads_do_not_disturb_each_other(simulated) -> None:
    done = simulated("-c", THREADS)
    assert done.stdout == "[]\n", done.stderr
