"""Runs of one program without and with the preload: nothing of what it prints or how it ends may differ."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .journal import Journal, read_journals

PROGRAMS = Path(__file__).resolve().parent
TIMEOUT_S = 90
OUR_BLOCK = re.compile(r"^device-audit: .*\n(?:  .*\n)*", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a user sees of a run, and what the audit kept; the exit code is negative for a signal, as in subprocess."""

    code: int
    stdout: str
    stderr: str
    journals: list[Journal] = field(default_factory=list)

    @property
    def journal(self) -> Journal:
        """The only one of a run of one process."""
        (only,) = self.journals
        return only

    @property
    def blocks(self) -> list[str]:
        """Our own words on stderr, a message or a finding each."""
        return OUR_BLOCK.findall(self.stderr)

    @property
    def seen(self) -> tuple[int, str, str]:
        """All that a run is to have in common with one without us."""
        return self.code, self.stdout, OUR_BLOCK.sub("", self.stderr)


Run = Callable[..., Outcome]


def finished(command: Iterable[str | Path], cwd: Path, environment: dict[str, str]) -> Outcome:
    """The outcome of a command. One that hangs is ended with all that it has started, and is a failure."""
    words = [str(word) for word in command]
    with subprocess.Popen(
        words,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            pytest.fail(f"{words} hangs\n{stdout}\n{stderr}")
    return Outcome(process.returncode, stdout, stderr)


@pytest.fixture(scope="session")
def core(build: Path) -> Path:
    return build / "lib" / "libdevice_audit.so"


@pytest.fixture(scope="session")
def programs(build: Path) -> Path:
    """The folder of the compiled programs."""
    return build / "programs"


@pytest.fixture
def alone(environment: dict[str, str], tmp_path: Path) -> Run:
    """Runs a command without us, in a folder of its own."""

    def run(*command: str | Path, **variables: str) -> Outcome:
        folder = tmp_path / "alone"
        folder.mkdir(exist_ok=True)
        return finished(command, folder, environment | variables)

    return run


@pytest.fixture
def audited(core: Path, environment: dict[str, str], tmp_path: Path) -> Run:
    """Runs a command with the preload, in another folder of its own; the journals are in the folder beside."""

    def run(*command: str | Path, **variables: str) -> Outcome:
        folder = tmp_path / "audited"
        folder.mkdir(exist_ok=True)
        directory = tmp_path / "audit"
        ours = {"LD_PRELOAD": str(core), "DEVICE_AUDIT_OUTPUT": str(directory), "DEVICE_AUDIT_FORMAT": ""}
        outcome = finished(command, folder, environment | ours | variables)
        return Outcome(outcome.code, outcome.stdout, outcome.stderr, read_journals(directory))

    return run


@pytest.fixture
def same(alone: Run, audited: Run) -> Run:
    """Runs a command without and with the preload, asserts that a user cannot tell, and returns what came with us."""

    def compare(*command: str | Path, **variables: str) -> Outcome:
        without = alone(*command, **variables)
        with_us = audited(*command, **variables)
        assert with_us.seen == without.seen
        return with_us

    return compare


@pytest.fixture
def script(python: str) -> Callable[..., list[str]]:
    """The command for one of the Python programs here."""
    return lambda name, *arguments: [python, str(PROGRAMS / name), *map(str, arguments)]
