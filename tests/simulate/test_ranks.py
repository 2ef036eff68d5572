"""Jobs of several processes over the simulated NCCL."""

from __future__ import annotations

from .conftest import HERE, STARTED


def torchrun(simulated, *arguments: str):
    launch = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "0")
    return simulated(*launch, HERE / "ranks.py", *arguments)


def test_ranks_exchange_and_train(simulated) -> None:
    done = torchrun(simulated)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 is done", "rank 1 is done"]
    assert done.stderr.count(STARTED(2)) == 1


def test_a_rank_whose_peer_has_ended_does_not_wait_for_ever(simulated) -> None:
    done = torchrun(simulated, "--die")
    assert done.returncode != 0
    assert "another rank has ended" in done.stderr or "exitcode: 5" in done.stderr.replace("  ", " ")
