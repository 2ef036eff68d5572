"""Signals that come at any moment, our own work included."""

from __future__ import annotations

from .conftest import Run


def test_a_timer_that_interrupts_findings(same: Run, script) -> None:
    outcome = same(*script("interrupted.py"))
    assert (outcome.code, outcome.stdout) == (0, "6000 errors, 0 wrong results\n")
    counts = {finding["site"]["file"]: outcome.journal.count(finding) for finding in outcome.journal.findings}
    in_handler = [count for file, count in counts.items() if file.endswith("interrupted.py")]
    assert len(in_handler) == 1
    assert in_handler[0] >= 200
    assert {file: count for file, count in counts.items() if file.startswith("place-")} == {
        f"place-{number}.py": 20 for number in range(300)
    }
