"""Jobs of several processes become one report."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from .conftest import Outcome, Program

Write = Callable[[str], Program]


def test_ranks_make_the_same_mistake(
    program: Write, tool: Path, python: str, environment: dict[str, str], tmp_path: Path
) -> None:
    source = program("""
        import os
        import torch

        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        try:
            torch.ones(2, device=device) + torch.ones(2)
        except RuntimeError:
            print("rank", os.environ["RANK"])
    """)
    directory = tmp_path / "audit"
    job = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(source.path)]
    command = [str(tool), "run", "--simulate", "2", "--output", str(directory), "--", *job]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    outcome = Outcome(done.returncode, done.stdout, done.stderr, directory)
    assert (outcome.returncode, sorted(outcome.stdout.splitlines())) == (0, ["rank 0", "rank 1"])

    ranks = [process for process in outcome.report["processes"] if process["rank"] is not None]
    assert [(process["rank"], process["world_size"]) for process in ranks] == [(0, 2), (1, 2)]
    finding = outcome.mismatch()
    assert (finding["operator"], finding["count"]) == ("aten::add", 2)
    assert finding["site"]["line"] == source.line("torch.ones(2, device=device)")
    assert [each["devices"] for each in finding["by_process"]] == [["cuda:0", "cpu"], ["cuda:1", "cpu"]]
