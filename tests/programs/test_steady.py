"""What an operator whose operands agree costs: nothing that can wait or fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Outcome, Run

NOTHING = "allocations 0 locks 0 system_calls 0\n"


def counted(outcome: Outcome) -> Outcome:
    if outcome.code == 77:
        pytest.skip(outcome.stdout.strip())
    assert outcome.code == 0
    return outcome


def test_an_operator_whose_operands_agree(alone: Run, audited: Run, programs: Path) -> None:
    program = programs / "steady_operator"
    assert counted(alone(program)).stdout == NOTHING
    assert counted(alone(program, "observe")).stdout == NOTHING
    outcome = counted(audited(program))
    assert outcome.stdout == NOTHING
    (totals,) = outcome.journal.of_type("observed")
    assert 2000 <= totals["operators"] <= 2020
    assert outcome.journal.findings == []
    assert outcome.blocks == []


def test_the_count_sees_what_it_is_to_see(alone: Run, audited: Run, programs: Path) -> None:
    """With one of each in an observer of the program's own."""
    program = programs / "steady_operator"
    for run in (alone, audited):
        assert counted(run(program, "control")).stdout == "allocations 1000 locks 1000 system_calls 1000\n"
