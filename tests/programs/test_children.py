"""Programs that a torch program starts, or is replaced by."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_children_of_every_kind(same: Run, script, programs: Path) -> None:
    """They inherit the preload where they are dynamic, and write nothing."""
    outcome = same(*script("children.py", programs / "static_program"))
    assert outcome.code == 5
    assert outcome.stdout.splitlines() == [
        "static, with 2 arguments, the last by subprocess",
        "5",
        "3",
        "1",
        "4",
        "6",
        "2",
        "static, with 2 arguments, the last by posix_spawn",
        "5",
        "No such file or directory",
        "by popen",
        "a Python without torch",
        "0",
        "static, with 2 arguments, the last in its place",
    ]
    assert outcome.journal.summary == [("invalid", "aten::mm", 1)]


def test_replaced_by_itself(same: Run, script) -> None:
    """exec keeps the process id: the journal of the program before stays what it is."""
    outcome = same(*script("replaced.py", "2"))
    assert (outcome.code, outcome.stdout) == (8, "run 2\nrun 1\n")
    first, second = sorted(outcome.journals, key=lambda each: "-2." in each.path.name)
    assert second.path.name == f"{first.path.stem}-2.jsonl"
    assert first.process["pid"] == second.process["pid"]
    assert [each.summary for each in outcome.journals] == [[("invalid", "aten::mm", 1)]] * 2
    assert second.ends == [("_exit", 8)]
