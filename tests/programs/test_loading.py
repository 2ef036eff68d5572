"""Libraries that are loaded into a process with torch."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_a_bare_name_is_searched_along_the_callers_path(same: Run, script, programs: Path) -> None:
    """Of the library that calls dlopen, not of the one that stands in front of it."""
    callers = [programs / f"libopens_plugin_{tags}.so" for tags in ("enable", "disable")]
    outcome = same(*script("loads.py", *callers))
    assert outcome.stdout == "open_by_bare_name the plugin\nopen_by_origin the plugin\n" * 2
    assert outcome.journal.summary == [("invalid", "aten::mm", 1)]


def test_errors_while_a_constructor_waits(same: Run, programs: Path) -> None:
    """The loader's lock is held: a thread that asks the loader meanwhile waits for the one that waits for it."""
    outcome = same(programs / "loads", programs / "libwaits_while_loaded.so")
    assert outcome.stdout == "errors were made meanwhile\n"
    findings = outcome.journal.findings
    assert {(each["verdict"], each["operator"]) for each in findings} == {("mismatch", "aten::add")}
    assert len(findings) > 50
