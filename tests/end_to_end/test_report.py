"""The report of a real run: valid, complete, and the same when it is rendered again from the journal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema

from .conftest import Program, Runner

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "report" / "schema.json").read_text(encoding="utf-8"))
Write = Callable[[str], Program]


def test_report(program: Write, audited: Runner, tool: Path, environment: dict[str, str]) -> None:
    source = program("""
        import torch

        table = torch.ones(4, 2, device="cuda:1")
        for _ in range(3):
            table[torch.tensor([0, 1])]  # legal: PyTorch moves the index
        table + torch.ones(4, 2)
    """)
    outcome = audited(source, "--simulate", "2", "--format", "json,text")
    report = outcome.report
    jsonschema.validate(report, SCHEMA, jsonschema.Draft202012Validator)
    assert outcome.returncode == 1
    assert (report["run"]["exit"], report["run"]["simulated"]) == (1, 2)
    assert report["run"]["command"][1:] == [str(source.path)]

    (process,) = report["processes"]
    assert process["torch"].startswith("2.")
    assert process["devices"] == ["cuda:1", "cpu"]
    assert (process["ended"], process["exit_code"]) == ("exit", 1)
    assert process["uncaught"]["finding"] == report["findings"][0]["id"]
    assert [finding["verdict"] for finding in report["findings"][:2]] == ["mismatch", "implicit"]
    implicit = report["findings"][1]
    assert (implicit["operator"], implicit["count"]) == ("aten::index", 3)
    assert implicit["site"]["line"] == source.line("legal: PyTorch moves")
    assert implicit["legal_because"]

    command = [str(tool), "report", str(outcome.directory), "--format", "text"]
    again = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert again.returncode == 0
    assert "aten::add" in again.stdout
    assert again.stdout == (outcome.directory / "report.txt").read_text(encoding="utf-8")


def test_journal_survives_a_kill(program: Write, audited: Runner) -> None:
    source = program("""
        import os, signal
        import torch

        try:
            torch.ones(2, device="cuda") + torch.ones(2)
        except RuntimeError:
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    outcome = audited(source, "--simulate", "1")
    finding = outcome.mismatch()
    assert outcome.returncode == 128 + 9
    assert (finding["operator"], finding["caught"]) == ("aten::add", "unknown")
    assert finding["site"]["line"] == source.line("torch.ones(2, device")
    assert outcome.report["processes"][0]["ended"] != "exit"


def test_without_torch_nothing_is_written(program: Write, preloaded: Runner) -> None:
    source = program("print('plain')")
    outcome = preloaded(source)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "plain\n", "")
    assert not outcome.directory.exists()
