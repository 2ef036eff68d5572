"""Which simulated GPUs a process sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import STARTED

# Without torch, which takes seconds to import.
SEEN = """
import ctypes
driver, count, name = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.create_string_buffer(64)
status = driver.cudaGetDeviceCount(ctypes.byref(count))
names = []
for device in range(count.value):
    assert driver.cuDeviceGetName(name, 64, device) == 0
    names.append(name.value.decode())
print(status, names)
"""
USE = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cudaFree(None))"


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("", []),
        ("-1", []),
        ("1", ["Simulated GPU 1"]),
        ("1,0", ["Simulated GPU 1", "Simulated GPU 0"]),
        ("0,5", ["Simulated GPU 0"]),
        ("0,0", []),
    ],
)
def test_visible_devices_are_honoured(simulated, visible: str, names: list[str]) -> None:
    done = simulated("-c", SEEN, CUDA_VISIBLE_DEVICES=visible)
    assert (done.stdout, done.stderr) == (f"{0 if names else 100} {names}\n", "")


@pytest.mark.parametrize("devices", [None, 0, "many"])
def test_without_devices_there_is_none(simulated, devices) -> None:
    done = simulated("-c", SEEN, devices=devices)
    assert (done.stdout, done.stderr) == ("100 []\n", "")


def test_pytorch_sees_the_visible_ones(simulated) -> None:
    program = "import torch; print([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])"
    assert simulated("-c", program, CUDA_VISIBLE_DEVICES="1").stdout == "['Simulated GPU 1']\n"


def test_pytorch_says_so_where_there_is_none(simulated) -> None:
    assert "No CUDA GPUs are available" in simulated("-c", "import torch; torch.zeros(1).cuda()", devices=0).stderr


def test_it_is_said_once_that_they_are_simulated(simulated, tmp_path: Path) -> None:
    assert simulated("-c", USE).stderr == STARTED(2)
    assert simulated("-c", USE, DEVICE_AUDIT_LOG="off").stderr == ""
    log = tmp_path / "log"
    assert simulated("-c", USE, DEVICE_AUDIT_LOG_FILE=str(log)).stderr == ""
    assert log.read_text() == STARTED(2)


def test_it_is_said_by_the_first_rank_alone(simulated) -> None:
    assert simulated("-c", USE, LOCAL_RANK="0").stderr == STARTED(2)
    assert simulated("-c", USE, LOCAL_RANK="1").stderr == ""


def test_what_is_not_simulated_is_refused_by_name_and_once(simulated) -> None:
    program = """
import ctypes
runtime = ctypes.CDLL("libcuda.so.1")
print([runtime.cudaMallocArray(None, None, 1, 1, 0) for _ in range(3)])
"""
    done = simulated("-c", program)
    assert done.stdout == "[801, 801, 801]\n"
    assert done.stderr == (
        "device-audit: simulated GPU: cudaMallocArray is not simulated; it returned cudaErrorNotSupported\n"
    )


def test_the_number_is_exported_for_the_core(simulated) -> None:
    program = "import ctypes; print(ctypes.CDLL(None).device_audit_simulated_devices())"
    assert simulated("-c", program, devices=3).stdout == "3\n"
    assert simulated("-c", program, devices=3, CUDA_VISIBLE_DEVICES="0,2").stdout == "2\n"


def test_the_management_library_is_found_by_its_name(simulated) -> None:
    program = """
import ctypes, torch
library = ctypes.CDLL("libnvidia-ml.so.1")
count = ctypes.c_uint()
assert library.nvmlInit_v2() == 0 and library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
print(count.value, torch.cuda.device_count())
"""
    assert simulated("-c", program, CUDA_VISIBLE_DEVICES="1").stdout == "2 1\n"


def test_a_process_that_does_not_use_cuda_is_untouched(library) -> None:
    environment = {"LD_PRELOAD": str(library), "DEVICE_AUDIT_SIMULATE": "2", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", "echo hello; ls / >/dev/null"], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("hello\n", "", 0)


def test_it_loads_where_lazy_binding_is_off(library) -> None:
    environment = {"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"}
    assert subprocess.run([sys.executable, "-c", ""], env=environment, check=False).returncode == 0
