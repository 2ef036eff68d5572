"""The built library: what it needs and exports, and that it answers whatever torch asks of CUDA."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .conftest import ROOT

FLOOR = (2, 28)
EXPORTED = re.compile(r"(__)?cuda|cu[A-Z]|cu(blas|dnn|fft|solver|sparse)|nccl|nvml|nvrtc|nvshmem")
OTHERS = {
    "device_audit_simulated_devices",
    "device_audit_simulated_refuse",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
}


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_every_symbol_that_torch_needs_is_answered(library: Path) -> None:
    script = ROOT / "scripts" / "check-simulated-symbols"
    done = subprocess.run([sys.executable, script, library], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_needs_libc_alone(library: Path) -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", library)))
    assert needed <= {"libc.so.6", "libdl.so.2"}


def test_it_carries_the_name_of_the_driver(library: Path) -> None:
    assert "soname: [libcuda.so.1]" in output("readelf", "-dW", library)


def test_it_exports_the_names_of_cuda_alone(library: Path) -> None:
    exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
    assert {name for name in exported - OTHERS if not EXPORTED.match(name)} == set()
    assert exported >= OTHERS


def test_it_loads_on_old_systems(library: Path) -> None:
    wanted = output("nm", "-D", "--undefined-only", library)
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"@GLIBC_([\d.]+)", wanted)}
    assert max(versions) <= FLOOR


def test_nothing_runs_at_load(library: Path) -> None:
    sections = output("readelf", "-SW", library)
    initialisers = re.search(r"\.init_array\s+INIT_ARRAY\s+\w+\s+\w+\s+(\w+)", sections)
    assert initialisers is None or int(initialisers[1], 16) <= 8  # the compiler's own frame_dummy
