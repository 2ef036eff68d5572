"""Every Python of this machine that the adapter can meet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
MINORS = range(9, 15)
DESCRIBE = "import platform, sys; print(platform.python_version() + sys.abiflags)"


def _pythons() -> dict[str, str]:
    """Executables by version: this one, PATH's, the system's, pyenv's, and those that DEVICE_AUDIT_PYTHONS lists."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, *os.environ.get("DEVICE_AUDIT_PYTHONS", "").split(":")]
    for minor in MINORS:
        name = f"python3.{minor}"
        candidates += [shutil.which(name) or "", shutil.which(name, path="/usr/bin") or ""]
        candidates += sorted(str(path) for path in versions.glob(f"3.{minor}.*/bin/{name}"))
    found: dict[str, str] = {}
    for candidate in filter(None, candidates):
        answer = subprocess.run([candidate, "-c", DESCRIBE], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            found.setdefault(answer.stdout.strip(), candidate)
    return found


PYTHONS = _pythons()


class Interpreter:
    """A Python with the probe."""

    def __init__(self, executable: str, minor: int, probe: Path, environment: dict[str, str]) -> None:
        self.executable = executable
        self.minor = minor
        self.environment = environment | {"PROBE": str(probe), "PYTHONPATH": str(HERE)}

    def run(self, *arguments: str, timeout: float = 60, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs it with a command line."""
        return subprocess.run(
            [self.executable, *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=self.environment | variables,
        )

    def script(self, folder: Path, text: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs `text` as a program; what it asserts must hold."""
        file = folder / "program.py"
        file.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        return self.run(str(file), *arguments, **variables)

    def passes(self, folder: Path, text: str, *arguments: str, **variables: str) -> str:
        """The output of a program that must end well."""
        result = self.script(folder, text, *arguments, **variables)
        assert result.returncode == 0, result.stdout + result.stderr
        assert not result.stderr, result.stderr
        return result.stdout


@pytest.fixture(scope="session")
def probe(build: Path) -> Path:
    path = build / "tests" / "libdevice_audit_python_probe.so"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture(params=PYTHONS.items(), ids=PYTHONS.keys())
def interpreter(request: pytest.FixtureRequest, probe: Path, environment: dict[str, str]) -> Interpreter:
    """Each Python in turn."""
    version, executable = request.param
    return Interpreter(executable, int(version.split(".")[1]), probe, environment)
