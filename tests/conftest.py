"""What every test needs: where the build is, and an environment without traces of the one that runs the tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder; DEVICE_AUDIT_BUILD names another than <repository>/build."""
    return Path(os.environ.get("DEVICE_AUDIT_BUILD", ROOT / "build")).resolve()


@pytest.fixture(scope="session")
def tool(build: Path) -> Path:
    """The `device-audit` command."""
    return build / "bin" / "device-audit"


@pytest.fixture(scope="session")
def python() -> str:
    """A Python with the torch that the build is for: the one that runs the tests."""
    return sys.executable


@pytest.fixture
def environment() -> dict[str, str]:
    """This process's environment without preloads and settings, and with one thread per process."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name != "LD_PRELOAD" and not name.startswith(("DEVICE_AUDIT", "PYTEST", "CUDA_"))
    }
    return clean | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
