"""Forks at any moment: children are processes of their own, and nothing of theirs is counted into the parent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Outcome, Run
from .journal import Journal

CHILDREN = 60


def split(outcome: Outcome) -> tuple[Journal, list[Journal]]:
    """The parent's journal, and those of its children."""
    (parent,) = (journal for journal in outcome.journals if not journal.process["forked"])
    children = [journal for journal in outcome.journals if journal is not parent]
    assert {journal.process["parent"] for journal in children} <= {parent.process["pid"]}
    assert len({journal.process["pid"] for journal in outcome.journals}) == len(outcome.journals)
    return parent, children


@pytest.fixture(params=["Python", "C++"])
def outcome(request: pytest.FixtureRequest, same: Run, script, programs: Path) -> Outcome:
    if request.param == "C++":
        return same(programs / "fork_in_threads", str(CHILDREN + 1))
    return same(*script("fork_in_threads.py", CHILDREN))


def test_children_of_a_process_whose_threads_make_findings(outcome: Outcome, tmp_path: Path) -> None:
    assert outcome.stdout == f"{CHILDREN + 1} of {CHILDREN + 1} children ended with 7\n"
    parent, children = split(outcome)
    operator = parent.findings[0]["operator"]
    assert len(children) == CHILDREN + 1
    for child in children:
        assert child.summary == [("mismatch", operator, 1)]
        assert child.ends == [("_exit", 7)]
        assert child.of_type("runtime") == parent.of_type("runtime")
    assert {journal.finding()["site"] and journal.finding()["site"]["function"] for journal in children} in (
        {"child"},
        {None},
    )
    assert parent.ends == [("exit", 0)]
    raised = int((tmp_path / "audited" / "raised").read_text(encoding="utf-8"))
    assert sum(count for _, _, count in parent.summary) == raised
    assert {(verdict, operator) for verdict, operator, _ in parent.summary} == {("mismatch", operator)}
    assert len(parent.findings) >= 60
