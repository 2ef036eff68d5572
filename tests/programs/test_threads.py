"""Operators on threads of every kind: of an extension that keeps the GIL, ending ones, those of an ended main."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run

THREADS, CALLS = 6, 200


def test_threads_of_an_extension_that_keeps_the_gil(same: Run, script, programs: Path) -> None:
    """Who waits for the GIL there, or makes a thread state for itself, waits for ever."""
    outcome = same(*script("keeps_the_gil.py", programs / "libkeeps_the_gil.so"))
    assert outcome.stdout == (
        "thread states 1\nGIL kept True states made 0 thread states 1\nGIL kept False states made 0 thread states 1\n"
    )
    of_python, of_threads = outcome.journal.findings
    assert of_python["site"]["function"] == "<module>"
    assert (of_threads["verdict"], of_threads["operator"]) == ("mismatch", "aten::copy_")
    assert (of_threads["site"], of_threads["python"]) == (None, [])
    assert outcome.journal.count(of_threads) == 2 * THREADS * CALLS


def test_threads_that_come_and_go(same: Run, programs: Path) -> None:
    """Eight at a time, fifty generations; operators in what runs as each of them ends count too."""
    outcome = same(programs / "coming_and_going_threads")
    threads = 8 * 50
    assert outcome.stdout == f"{threads * (20 + 1 + 1 + 3)} operators\n"
    assert sorted(outcome.journal.summary) == [
        ("invalid", "aten::mm", threads),  # a thread_local object's destructor
        ("invalid", "aten::mm", 3 * threads),  # a key's destructor
        ("invalid", "aten::mm", 20 * threads),
        ("mismatch", "aten::add", threads),
    ]
    (totals,) = outcome.journal.of_type("observed")
    # Beside the two operators of a finding: the factories of their results and, once, of their operands.
    assert totals["operators"] == threads * (2 * (20 + 1 + 3) + 1) + 4
