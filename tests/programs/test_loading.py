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
