"""Workers of a DataLoader: processes of their own, which end by os._exit (fork) or as a whole Python (spawn)."""

from __future__ import annotations

import pytest

from .conftest import Run

ITEMS = 16


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers(same: Run, script, context: str) -> None:
    outcome = same(*script("workers.py", context))
    (parent,) = (
        each
        for each in outcome.journals
        if "--multiprocessing-fork" not in each.process["command"] and not each.process["forked"]
    )
    workers = [each for each in outcome.journals if each is not parent]
    assert parent.findings == []
    assert parent.ends == [("exit", 0)]
    assert {worker.process["parent"] for worker in workers} == {parent.process["pid"]}
    assert {worker.process["forked"] for worker in workers} == {context == "fork"}
    counts = sorted(worker.count(worker.finding()) for worker in workers)
    # The persistent workers of the fork see three epochs.
    assert counts == ([ITEMS // 4] * 4 + [3 * ITEMS // 4] * 4 if context == "fork" else [ITEMS // 2] * 2)
    for worker in workers:
        finding = worker.finding()
        assert (finding["verdict"], finding["operator"]) == ("mismatch", "aten::copy_")
        assert finding["site"]["function"] == "Mixing.__getitem__"
        assert worker.ends == [("_exit" if context == "fork" else "exit", 0)]
