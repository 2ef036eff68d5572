"""The program does what it does without us: the same output, the same exit code, the same numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from .conftest import Program, Runner

Write = Callable[[str], Program]

TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(7)
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(12, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.utils.data.TensorDataset(torch.randn(64, 12), torch.randint(3, (64,)))
    for features, labels in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(model(features.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item().hex(), device)
    for name, parameter in model.named_parameters():
        print(name, parameter.device, float(parameter.detach().cpu().double().sum()).hex())
    if device.type == "cuda":
        print(torch.cuda.device_count(), torch.cuda.memory_allocated() > 0)
"""

RAISING = """
    import sys
    import torch

    def add(left, right):
        return left + right

    print("before")
    sys.stderr.write("a line of the program\\n")
    add(torch.ones(2, device="cuda"), torch.ones(2))
"""


@pytest.fixture(params=["audited", "preloaded"])
def either(request: pytest.FixtureRequest) -> Runner:
    """Both ways in: the command, and the preload alone."""
    run = request.getfixturevalue(request.param)
    if request.param == "preloaded":
        return run
    return lambda source, simulate=0: run(source, "--simulate", str(simulate))


def test_training_on_the_cpu(program: Write, alone: Runner, either: Runner) -> None:
    source = program(TRAINING)
    expected = alone(source)
    outcome = either(source)
    assert expected.returncode == 0
    assert expected.stdout.count("cpu") == 10
    assert outcome.of_program == expected.of_program


def test_training_on_simulated_gpus(program: Write, alone: Runner, either: Runner) -> None:
    source = program(TRAINING)
    expected = alone(source, simulate=2)
    outcome = either(source, simulate=2)
    assert expected.returncode == 0
    assert expected.stdout.endswith("2 True\n")
    assert outcome.of_program == expected.of_program
    assert outcome.findings("mismatch") == []


def test_traceback(program: Write, alone: Runner, either: Runner) -> None:
    source = program(RAISING)
    expected = alone(source, simulate=2)
    outcome = either(source, simulate=2)
    assert expected.returncode == 1
    assert expected.stderr_of_program.startswith("a line of the program\nTraceback (most recent call last):\n")
    assert outcome.of_program == expected.of_program
    assert "device-audit: mismatch in aten::add\n" in outcome.stderr


def test_log_file_leaves_stderr_alone(program: Write, alone: Runner, audited: Runner) -> None:
    source = program(RAISING)
    expected = alone(source, simulate=2)
    log = source.path.parent / "audit.log"
    outcome = audited(source, "--simulate", "2", "--log-file", str(log))
    assert outcome.of_program == expected.of_program
    assert "device-audit: mismatch in aten::add\n" in log.read_text()
    assert "mismatch in" not in outcome.stderr


def test_settings_that_are_wrong(program: Write, alone: Runner, preloaded: Runner) -> None:
    source = program("import torch\nprint(torch.ones(2).sum().item())\n")
    expected = alone(source)
    outcome = preloaded(source, DEVICE_AUDIT_FORMAT="json", DEVICE_AUDIT_MODE="fast", DEVICE_AUDIT_COLOUR="red")
    assert (outcome.returncode, outcome.stdout) == (0, expected.stdout)
    *warnings, conclusion = outcome.stderr.splitlines()
    assert len(warnings) == 2
    assert re.fullmatch(r"device-audit: no mismatch; \d+ operators observed; see .*/report.json or run: .*", conclusion)
    assert "DEVICE_AUDIT_COLOUR" in outcome.stderr
    assert "full, adaptive, errors" in outcome.stderr
    assert outcome.report["processes"][0]["mode"] == "full"


def test_switched_off(program: Write, alone: Runner, preloaded: Runner) -> None:
    source = program(RAISING)
    expected = alone(source, simulate=2)
    outcome = preloaded(source, simulate=2, DEVICE_AUDIT="0")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (1, expected.stdout, expected.stderr)
    assert not outcome.directory.exists()
