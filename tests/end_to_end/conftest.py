"""Programs run through the real command or the bare preload, and what came of them."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TIMEOUT = 120
OUR_BLOCK = re.compile(r"^device-audit: .*\n(?:  .*\n)*", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a program printed, how it ended, and the directory of its run."""

    returncode: int
    stdout: str
    stderr: str
    directory: Path

    @property
    def report(self) -> dict[str, Any]:
        return json.loads((self.directory / "report.json").read_text(encoding="utf-8"))

    def findings(self, verdict: str) -> list[dict[str, Any]]:
        return [finding for finding in self.report["findings"] if finding["verdict"] == verdict]

    def mismatch(self) -> dict[str, Any]:
        """The one mismatch of a run that has exactly one."""
        found = self.findings("mismatch")
        assert len(found) == 1, (found, self.stderr)
        return found[0]

    @property
    def stderr_of_program(self) -> str:
        """stderr without what is ours."""
        return OUR_BLOCK.sub("", self.stderr)

    @property
    def of_program(self) -> tuple[int, str, str]:
        """Exit code, stdout and stderr, as they are without us."""
        return self.returncode, self.stdout, self.stderr_of_program

    @property
    def error(self) -> str:
        """The text of the exception that ended the program, as Python printed it."""
        *_, last = re.findall(r"^\w*(?:Error|Exception): (.*(?:\n.+)*)", self.stderr_of_program, re.MULTILINE)
        return last.strip()


@dataclass(frozen=True)
class Program:
    """A program's file and its source."""

    path: Path
    source: str

    def line(self, code: str) -> int:
        """The number of the one line that contains `code`."""
        (number,) = (n for n, line in enumerate(self.source.splitlines(), 1) if code in line)
        return number


Runner = Callable[..., Outcome]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Program]:
    """Writes a program into a folder of its own."""

    def write(source: str, name: str = "program.py") -> Program:
        source = textwrap.dedent(source).lstrip("\n")
        path = tmp_path / name
        path.write_text(source, encoding="utf-8")
        return Program(path, source)

    return write


def _finished(command: list[str], environment: dict[str, str], directory: Path, cwd: Path) -> Outcome:
    done = subprocess.run(
        command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT
    )
    return Outcome(done.returncode, done.stdout, done.stderr, directory)


@pytest.fixture
def audited(tool: Path, python: str, environment: dict[str, str], tmp_path: Path) -> Runner:
    """Runs a program under `device-audit run`, with flags and environment variables as given."""

    def run(program: Program, *flags: str, **variables: str) -> Outcome:
        directory = tmp_path / "audit"
        command = [str(tool), "run", "--output", str(directory), *flags, "--", python, str(program.path)]
        return _finished(command, environment | variables, directory, tmp_path)

    return run


@pytest.fixture
def preloaded(build: Path, python: str, environment: dict[str, str], tmp_path: Path) -> Runner:
    """Runs a program with the preload alone, and the simulated GPUs beside it if `simulate` is not 0."""

    def run(program: Program, simulate: int = 0, **variables: str) -> Outcome:
        directory = tmp_path / "audit"
        preload = ["libdevice_audit.so", *_simulation(simulate)]
        variables |= {"DEVICE_AUDIT_OUTPUT": str(directory), "DEVICE_AUDIT_SIMULATE": str(simulate)}
        variables["LD_PRELOAD"] = ":".join(str(build / "lib" / name) for name in preload)
        return _finished([python, str(program.path)], environment | variables, directory, tmp_path)

    return run


@pytest.fixture
def alone(build: Path, python: str, environment: dict[str, str], tmp_path: Path) -> Runner:
    """Runs a program without the audit: what it does by itself, on real devices or on simulated GPUs."""

    def run(program: Program, simulate: int = 0) -> Outcome:
        variables = {"DEVICE_AUDIT_SIMULATE": str(simulate)} if simulate else {}
        if simulate:
            variables["LD_PRELOAD"] = ":".join(str(build / "lib" / name) for name in _simulation(simulate))
        return _finished([python, str(program.path)], environment | variables, tmp_path / "none", tmp_path)

    return run


def _simulation(simulate: int) -> list[str]:
    return ["libdevice_audit_simulate.so", "libdevice_audit_simulate_cupti.so"] if simulate else []
