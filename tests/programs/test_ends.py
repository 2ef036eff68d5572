"""Ways to end: exit code, traceback and text are the program's own, and the journal knows how it ended."""

from __future__ import annotations

from .conftest import Outcome, Run


def caught(outcome: Outcome) -> list[tuple[str, bool | None]]:
    """Function of each finding, and whether its error was handled (None: the journal does not say)."""
    said = {record["finding"]: record["caught"] for record in outcome.journal.of_type("outcome")}
    return [(finding["site"]["function"], said.get(finding["id"])) for finding in outcome.journal.findings]


def test_exit_now(same: Run, script) -> None:
    """os._exit runs no handler of any kind."""
    outcome = same(*script("ends.py", "exit-now"))
    assert (outcome.code, outcome.stdout) == (9, "before os._exit\n")
    assert outcome.journal.ends == [("_exit", 9)]
    assert outcome.journal.records[-1]["type"] == "end"
    assert caught(outcome) == [("attempt", None)]


def test_exit_code(same: Run, script) -> None:
    outcome = same(*script("ends.py", "exit-code"))
    assert (outcome.code, outcome.stdout) == (3, "a handler of exit\n")
    assert outcome.journal.ends == [("exit", 3)]
    # A SystemExit in a thread ends that and says nothing; another error there is printed, and the program goes on.
    assert "said by nobody" not in outcome.stderr
    assert "Exception in thread fail_in_thread" in outcome.stderr
    assert caught(outcome) == [("attempt", True), ("fail_in_thread", None)]
    assert [outcome.journal.count(finding) for finding in outcome.journal.findings] == [3, 1]
    assert outcome.journal.of_type("uncaught") == []


def test_uncaught_error(same: Run, script) -> None:
    outcome = same(*script("ends.py", "error"))
    assert outcome.code == 1
    assert outcome.stderr.endswith("LookupError: not ours\n")
    assert "ValueError: the cause\n\nThe above exception was the direct cause" in outcome.stderr
    assert outcome.journal.ends == [("exit", 1)]
    (uncaught,) = outcome.journal.of_type("uncaught")
    assert (uncaught["kind"], uncaught["text"], uncaught["finding"]) == ("LookupError", "not ours", None)
    assert [frame["function"] for frame in uncaught["stack"]] == ["main", "<module>"]
    assert caught(outcome) == [("attempt", True), ("fail_in_thread", None)]


def test_uncaught_error_of_a_finding(same: Run, script) -> None:
    outcome = same(*script("ends.py", "finding"))
    assert outcome.code == 1
    assert outcome.stderr.endswith("NotImplementedError: Cannot copy out of meta tensor; no data!\n")
    assert caught(outcome) == [("attempt", True), ("fail_in_thread", None), ("main", False)]
    (uncaught,) = outcome.journal.of_type("uncaught")
    assert uncaught["finding"] == outcome.journal.findings[-1]["id"]
