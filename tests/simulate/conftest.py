"""Runs a program on simulated GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STARTED = (
    "device-audit: {} simulated GPUs: devices, shapes and errors are PyTorch's own, values are not computed\n".format
)

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def library() -> Path:
    """The simulated runtime, built."""
    build = Path(os.environ.get("DEVICE_AUDIT_BUILD", ROOT / "build")).resolve()
    return build / "lib" / "libdevice_audit_simulate.so"


@pytest.fixture(scope="session")
def simulated(library: Path) -> Run:
    """Runs Python with `arguments` under the simulated runtime; further keywords are environment variables."""

    def run(*arguments: str | Path, devices: int | None = 2, **environment: str) -> subprocess.CompletedProcess:
        clean = {
            name: value
            for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("DEVICE_AUDIT", "CUDA_", "PYTORCH_"))
        }
        clean |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "LD_PRELOAD": str(library)} | environment
        if devices is not None:
            clean["DEVICE_AUDIT_SIMULATE"] = str(devices)
        command = [sys.executable, "-X", "faulthandler", *map(str, arguments)]
        return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=280, cwd=HERE)

    return run


@pytest.fixture(scope="session")
def outcomes(simulated: Run) -> Callable[[str], tuple[dict[str, str | None], str]]:
    """Runs a script of this folder that prints {"name": ..., "error": ...} for each of its cases, once.

    Returns the errors by name and what it wrote to stderr.
    """
    kept: dict[str, tuple[dict[str, str | None], str]] = {}

    def of(script: str) -> tuple[dict[str, str | None], str]:
        if script not in kept:
            done = simulated(HERE / script)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
            assert done.returncode == 0, f"{script} ended after {lines[-1:]}:\n{done.stderr}"
            kept[script] = {line["name"]: line["error"] for line in lines}, done.stderr
        return kept[script]

    return of
