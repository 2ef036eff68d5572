"""C++ errors: caught, carried to other threads, handled inside an operator, and fatal."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from .conftest import OUR_BLOCK, Run

TEXT = "Expected all tensors to be on the same device, but found at least two devices, meta and cpu!"
HEXADECIMAL = re.compile(r"0x[0-9a-f]+")


def test_an_error_thrown_again_on_other_threads(same: Run, programs: Path) -> None:
    outcome = same(programs / "errors", "across-threads")
    assert outcome.stdout == f"on another thread: {TEXT}\non the main thread: 1\n"
    assert outcome.journal.summary == [("mismatch", "aten::add", 1)]
    assert outcome.journal.finding()["error"] == TEXT
    assert outcome.journal.finding()["error_type"] == "c10::Error"


def test_an_error_handled_inside_an_operator(same: Run, programs: Path) -> None:
    """An operator that tries and falls back has not failed."""
    outcome = same(programs / "errors", "inside-operator")
    assert outcome.stdout == "fell back: 1\n"
    assert outcome.journal.findings == []
    assert outcome.blocks == []


def test_ten_thousand_errors(same: Run, programs: Path) -> None:
    outcome = same(programs / "errors", "many")
    assert outcome.stdout == "10000 caught, memory steady\n"
    assert outcome.journal.summary == [("mismatch", "aten::add", 10000)]
    assert len(outcome.blocks) == 1


def test_a_handled_fault(same: Run, programs: Path) -> None:
    """The program's own handler of SIGSEGV jumps out of the fault, and operators go on."""
    outcome = same(programs / "dies", "handled")
    assert (outcome.code, outcome.stdout) == (4, "and goes on\n")
    assert outcome.stderr.count("the program's handler jumps out\n") == 1
    assert outcome.journal.summary == [("invalid", "aten::mm", 1)] * 2
    assert outcome.journal.ends == [("exit", 4)]


@pytest.mark.parametrize(("how", "number"), [("fatal", signal.SIGSEGV), ("abort", signal.SIGABRT)])
def test_a_fatal_signal(same: Run, programs: Path, how: str, number: int) -> None:
    outcome = same(programs / "dies", how)
    assert outcome.code == -number
    assert outcome.journal.summary == [("invalid", "aten::mm", 1)]
    assert outcome.journal.ends == []


def printed(stderr: str) -> tuple[list[str], list[str]]:
    """What the C++ runtime prints of an uncaught c10::Error: its lines, and the stack in it, without addresses."""
    lines = HEXADECIMAL.sub("", OUR_BLOCK.sub("", stderr)).splitlines()
    frames = [line.partition(": ")[2] for line in lines if line.startswith("frame #")]
    return [line for line in lines if not line.startswith("frame #")], frames


def test_an_error_that_nobody_catches(alone: Run, audited: Run, programs: Path) -> None:
    without, with_us = alone(programs / "dies", "terminate"), audited(programs / "dies", "terminate")
    assert with_us.code == without.code == -signal.SIGABRT
    lines, frames = printed(without.stderr)
    assert lines[:2] == ["terminate called after throwing an instance of 'c10::Error'", f"  what():  {TEXT}"]
    our_lines, our_frames = printed(with_us.stderr)
    assert our_lines == lines
    # PyTorch calls an operator that is observed through one more function of its own; else the stacks are the same.
    left = iter(our_frames)
    assert all(frame in left for frame in frames)
    assert len(our_frames) == len(frames) + 1
    assert not any("device_audit" in frame for frame in our_frames)
    assert with_us.journal.summary == [("invalid", "aten::mm", 1), ("mismatch", "aten::add", 1)]
    mismatch = with_us.journal.finding("mismatch")
    assert mismatch["error"] == TEXT
    assert [(each["finding"], each["caught"]) for each in with_us.journal.of_type("outcome")] == [
        (mismatch["id"], False)
    ]


def test_operators_after_main(same: Run, programs: Path) -> None:
    """Handlers of exit, and objects that outlive the mark of the end."""
    outcome = same(programs / "after_main")
    assert outcome.code == 6
    assert outcome.stdout == "main\n" + "".join(
        f"{when}: {TEXT}\n" for when in ("handler of exit", "object made in main", "object made before main")
    )
    assert outcome.journal.summary == [("invalid", "aten::mm", 1), ("mismatch", "aten::add", 1)] * 3
    assert outcome.journal.ends == [("exit", 6)]
