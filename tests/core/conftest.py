"""The tiny programs of tests/core/programs, built on demand, and a comparison of runs with and without the preload."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"
TIMEOUT_S = 30


@dataclass(frozen=True)
class Outcome:
    """What a user sees of a run; the exit code is negative for a signal, as in subprocess."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def core(build: Path) -> Path:
    return build / "lib" / "libdevice_audit.so"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds programs/SOURCE with the flags given, to a file NAME in its own folder, once for each set of flags."""
    made: dict[tuple, Path] = {}

    def compile_program(source: str, *flags: str, name: str = "program") -> Path:
        key = (source, flags, name)
        if key not in made:
            target = tmp_path_factory.mktemp("program") / name
            compiler = "g++" if source.endswith(".cpp") else "gcc"
            words = [compiler, "-O1", "-w", str(PROGRAMS / source), "-o", str(target), *flags]
            subprocess.run(words, check=True, timeout=TIMEOUT_S)
            made[key] = target
        return made[key]

    return compile_program


@pytest.fixture(scope="session")
def library(compiled: Callable[..., Path]) -> Callable[..., Path]:
    """As `compiled`, for a shared library."""

    def compile_library(source: str, *flags: str, name: str = "lib.so") -> Path:
        return compiled(source, "-shared", "-fPIC", *flags, name=name)

    return compile_library


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Callable[..., Outcome]:
    """Runs a command in an empty folder, with the preload if one is named; a file left in the folder is a failure."""

    def run_command(*command: str | Path, preload: str | Path = "", **changed: str) -> Outcome:
        extra = {"LD_PRELOAD": str(preload)} if preload else {}
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment | extra | changed, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert list(tmp_path.iterdir()) == []
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run_command


@pytest.fixture
def same(run: Callable[..., Outcome], core: Path) -> Callable[..., Outcome]:
    """Runs a command without and with the preload, asserts that nothing can be told apart, and returns the outcome."""

    def compare(*command: str | Path, **changed: str) -> Outcome:
        without = run(*command, **changed)
        assert run(*command, preload=core, **changed) == without
        assert without.code not in (-signal.SIGSEGV, 127)
        return without

    return compare
