"""The memory of simulated GPUs."""

from __future__ import annotations

import json
import signal

import pytest

EXHAUST = """
import torch
held = []
try:
    while True:
        held.append(torch.empty(256 << 20, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError as error:
    print(len(held))
    print(error)
free, total = torch.cuda.mem_get_info()
held.clear()
torch.cuda.empty_cache()
print(free, total, torch.cuda.mem_get_info()[0])
"""


def test_a_limit_gives_pytorchs_out_of_memory(simulated) -> None:
    done = simulated("-c", EXHAUST, DEVICE_AUDIT_SIMULATE_MEMORY="2GiB")
    lines = done.stdout.splitlines()
    assert lines[0] == "8"
    assert lines[1].startswith(
        "CUDA out of memory. Tried to allocate 256.00 MiB. "
        "GPU 0 has a total capacity of 2.00 GiB of which 0 bytes is free."
    )
    assert lines[-1] == f"0 {2 << 30} {2 << 30}"


@pytest.mark.parametrize(
    ("value", "total"), [("1GiB", 1 << 30), ("512 MiB", 512 << 20), ("lots", 80 << 30), ("0", 80 << 30)]
)
def test_the_size_is_read_or_the_default_taken(simulated, value: str, total: int) -> None:
    program = """
import ctypes
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert ctypes.CDLL("libcuda.so.1").cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
print(total.value)
"""
    assert simulated("-c", program, DEVICE_AUDIT_SIMULATE_MEMORY=value).stdout == f"{total}\n"


REUSE = """
import json, torch

def kilobytes(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))

values = torch.ones(1 << 13)
for i in range(10_000):
    on_device = values.cuda()
    del on_device
    if i % 10 == 0:
        torch.cuda.empty_cache()
    if i == 500:
        before = {what: kilobytes(what) for what in ("VmRSS", "VmPTE")}
print(json.dumps({what: kilobytes(what) - before[what] for what in before}))
"""


@pytest.mark.parametrize("configuration", ["", "expandable_segments:True", "backend:cudaMallocAsync"])
def test_ten_thousand_allocations_do_not_grow_the_process(simulated, configuration: str) -> None:
    done = simulated("-c", REUSE, PYTORCH_CUDA_ALLOC_CONF=configuration)
    growth = json.loads(done.stdout)
    assert growth["VmRSS"] < 8192
    assert growth["VmPTE"] < 1024


ACCESS = """
import ctypes, torch
values = torch.ones(4).cuda()
print(ctypes.c_float.from_address(values.data_ptr()).value)
"""


def test_host_access_faults_as_on_a_gpu(simulated) -> None:
    done = simulated("-c", ACCESS)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "")


def test_host_access_can_be_let_through(simulated) -> None:
    done = simulated("-c", ACCESS, DEVICE_AUDIT_SIMULATE_STRICT="0")
    assert (done.returncode, done.stdout) == (0, "1.0\n")


VALUES = """
import torch
large = torch.randn(20 << 20)
small = [torch.randn(1000) for _ in range(200)]
moved = [value.cuda() for value in small] + [large.cuda()]
assert all(torch.equal(a.cpu(), b) for a, b in zip(moved, [*small, large]))
del moved
torch.cuda.empty_cache()
fresh = torch.empty(20 << 20, device="cuda")
assert not fresh.cpu().any()
large.cuda()
assert not torch.empty(20 << 20, device="cuda").cpu().any()
print("right")
"""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"DEVICE_AUDIT_SIMULATE_STRICT": "0"},
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
        {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    ],
)
def test_values_are_kept_and_fresh_memory_is_zero(simulated, environment: dict[str, str]) -> None:
    done = simulated("-c", VALUES, **environment)
    assert done.stdout == "right\n", done.stderr


POINTERS = """
import ctypes
runtime = ctypes.CDLL("libcuda.so.1")

class Attributes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int), ("device_pointer", ctypes.c_void_p),
                ("host_pointer", ctypes.c_void_p), ("reserved", ctypes.c_long * 8)]

def attributes(address):
    found = Attributes()
    assert runtime.cudaPointerGetAttributes(ctypes.byref(found), ctypes.c_void_p(address)) == 0
    return found.type, found.device

def allocate(function, *more):
    pointer = ctypes.c_void_p()
    assert function(ctypes.byref(pointer), ctypes.c_size_t(100), *more) == 0
    return pointer.value

assert runtime.cudaSetDevice(1) == 0
buffer = ctypes.create_string_buffer(100)
host = ctypes.addressof(buffer)
assert attributes(host) == (0, -2)
assert attributes(allocate(runtime.cudaHostAlloc, 0)) == (1, 1)
assert attributes(allocate(runtime.cudaMalloc) + 50) == (2, 1)
assert attributes(allocate(runtime.cudaMallocManaged, 1)) == (3, 1)
assert runtime.cudaHostRegister(ctypes.c_void_p(host), ctypes.c_size_t(100), 0) == 0
assert attributes(host) == (1, 1)
assert runtime.cudaHostRegister(ctypes.c_void_p(host), ctypes.c_size_t(100), 0) == 712
assert runtime.cudaHostUnregister(ctypes.c_void_p(host)) == 0
assert attributes(host) == (0, -2)
assert runtime.cudaHostUnregister(ctypes.c_void_p(host)) == 713

device = allocate(runtime.cudaMalloc)
pointer, size = ctypes.c_void_p, ctypes.c_size_t
copy = lambda to, source, kind: runtime.cudaMemcpy(pointer(to), pointer(source), size(100), kind)
buffer.raw = bytes(range(100))
assert copy(device, host, 1) == 0 and copy(device, host, 4) == 0
assert copy(device, host, 2) == 1 and copy(host, device, 1) == 1 and copy(device, host, 9) == 21
buffer.raw = bytes(100)
assert copy(host, device, 2) == 0 and buffer.raw == bytes(range(100))
assert runtime.cudaMemcpy(ctypes.c_void_p(device), ctypes.c_void_p(host), ctypes.c_size_t(1 << 30), 1) == 1
assert runtime.cudaFree(ctypes.c_void_p(device)) == 0
assert runtime.cudaFree(ctypes.c_void_p(device)) == 1
assert runtime.cudaGetLastError() == 1 and runtime.cudaGetLastError() == 0
print("right")
"""


def test_pointers_are_told_apart(simulated) -> None:
    done = simulated("-c", POINTERS)
    assert done.stdout == "right\n", done.stderr
