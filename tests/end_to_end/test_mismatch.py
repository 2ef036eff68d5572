"""Mistakes that users make, each on two simulated GPUs: PyTorch raises, and the report says where and which tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import Program, Runner

Write = Callable[[str], Program]


def operand(finding: dict[str, Any], argument: str) -> dict[str, Any]:
    (found,) = (operand for operand in finding["operands"] if operand["argument"] == argument)
    return found


def facts(finding: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Each operand as (argument, device, shape, dtype)."""
    keys = ("argument", "device", "shape", "dtype")
    return [tuple(operand[key] for key in keys) for operand in finding["operands"]]


def test_input_not_moved(program: Write, audited: Runner) -> None:
    source = program("""
        import torch
        from torch import nn

        class Regressor(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 2)

            def forward(self, features):
                return self.layer(features)

        regressor = Regressor().cuda()
        sample = torch.ones(5, 6)
        regressor(sample)
    """)
    outcome = audited(source, "--simulate", "2")
    finding = outcome.mismatch()
    assert outcome.returncode == 1
    assert finding["operator"] == "aten::addmm"
    assert finding["overload"] is None
    assert finding["chain"] == ["aten::linear", "aten::addmm"]
    assert finding["devices"] == ["cuda:0", "cpu"]
    assert facts(finding) == [
        ("self", "cuda:0", [2], "torch.float32"),
        ("mat1", "cpu", [5, 6], "torch.float32"),
        ("mat2", "cuda:0", [6, 2], "torch.float32"),
    ]
    assert finding["pairs"] == [{"a": "self", "b": "mat1"}]
    assert finding["site"] == {
        "file": str(source.path),
        "line": source.line("return self.layer"),
        "function": "Regressor.forward",
        "code": "return self.layer(features)",
    }
    assert finding["error"] == outcome.error
    assert "mat1 is on cpu, different from other tensors on cuda:0" in finding["error"]
    assert finding["phase"] == "forward"
    assert finding["caught"] is False
    assert finding["count"] == 1


def test_label_not_moved(program: Write, audited: Runner) -> None:
    source = program("""
        import torch
        from torch import nn

        head = nn.Linear(4, 3).to("cuda")
        criterion = nn.CrossEntropyLoss()
        for features, answers in [(torch.ones(8, 4), torch.zeros(8, dtype=torch.long))]:
            scores = head(features.to("cuda"))
            loss = criterion(scores, answers)
    """)
    outcome = audited(source, "--simulate", "2")
    finding = outcome.mismatch()
    assert outcome.returncode == 1
    assert finding["operator"] == "aten::nll_loss_forward"
    assert " > ".join(finding["chain"]) == (
        "aten::cross_entropy_loss > aten::nll_loss_nd > aten::nll_loss > aten::nll_loss_forward"
    )
    assert finding["devices"] == ["cuda:0", "cpu"]
    assert facts(finding) == [
        ("self", "cuda:0", [8, 3], "torch.float32"),
        ("target", "cpu", [8], "torch.int64"),
    ]
    assert finding["site"]["line"] == source.line("loss = criterion")
    assert finding["site"]["function"] == "<module>"
    assert finding["error"] == outcome.error


def test_factory_in_forward(program: Write, audited: Runner) -> None:
    source = program("""
        import torch
        from torch import nn

        class Shift(nn.Module):
            def forward(self, hidden):
                offset = torch.arange(3.0)
                return hidden + offset

        Shift()(torch.ones(2, 3, device="cuda:1"))
    """)
    finding = audited(source, "--simulate", "2").mismatch()
    assert (finding["operator"], finding["overload"]) == ("aten::add", "Tensor")
    assert finding["chain"] == ["aten::add"]
    assert finding["devices"] == ["cuda:1", "cpu"]
    assert facts(finding) == [
        ("self", "cuda:1", [2, 3], "torch.float32"),
        ("other", "cpu", [3], "torch.float32"),
    ]
    assert finding["site"]["line"] == source.line("return hidden + offset")
    assert finding["site"]["code"] == "return hidden + offset"


def test_wrong_gpu(program: Write, audited: Runner) -> None:
    source = program("""
        import torch

        left = torch.ones(2, 2, device="cuda:0")
        right = torch.ones(2, 2, device="cuda:1")
        product = left @ right
    """)
    finding = audited(source, "--simulate", "2").mismatch()
    assert finding["operator"] == "aten::mm"
    assert finding["chain"] == ["aten::matmul", "aten::mm"]
    assert finding["devices"] == ["cuda:0", "cuda:1"]
    assert [row[:2] for row in facts(finding)] == [("self", "cuda:0"), ("mat2", "cuda:1")]
    assert finding["site"]["line"] == source.line("left @ right")


def test_partially_moved_model(program: Write, audited: Runner) -> None:
    source = program("""
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(3, 7), nn.ReLU(), nn.Linear(7, 2))
        model[0].cuda()
        model(torch.ones(4, 3, device="cuda"))
    """)
    finding = audited(source, "--simulate", "2").mismatch()
    assert finding["operator"] == "aten::addmm"
    assert finding["devices"] == ["cuda:0", "cpu"]
    assert [row[:3] for row in facts(finding)] == [
        ("self", "cpu", [2]),
        ("mat1", "cuda:0", [4, 7]),
        ("mat2", "cpu", [7, 2]),
    ]
    assert finding["site"]["line"] == source.line("model(torch.ones")


def test_backward(program: Write, audited: Runner) -> None:
    source = program("""
        import torch

        weight = torch.ones(3, requires_grad=True)
        scale = torch.ones(3)
        total = (weight * scale).sum()
        scale.data = scale.data.cuda()
        total.backward()
    """)
    outcome = audited(source, "--simulate", "2")
    finding = outcome.mismatch()
    assert (finding["operator"], finding["overload"]) == ("aten::mul", "Tensor")
    assert finding["devices"] == ["cuda:0", "cpu"]
    assert facts(finding) == [("self", "cpu", [3], "torch.float32"), ("other", "cuda:0", [3], "torch.float32")]
    assert finding["phase"] == "backward"
    assert finding["site"]["line"] == source.line("total.backward()")
    assert finding["error"] == outcome.error


def test_gradient_hook(program: Write, audited: Runner) -> None:
    source = program("""
        import torch

        weight = torch.ones(3, device="cuda", requires_grad=True)
        scaled = weight * 2

        def mask_gradient(gradient):
            return gradient * torch.ones(3)

        scaled.register_hook(mask_gradient)
        scaled.sum().backward()
    """)
    finding = audited(source, "--simulate", "2").mismatch()
    assert (finding["operator"], finding["overload"]) == ("aten::mul", "Tensor")
    assert finding["devices"] == ["cuda:0", "cpu"]
    assert finding["phase"] == "backward"
    assert finding["site"]["line"] == source.line("return gradient *")
    assert finding["site"]["function"] == "mask_gradient"


def test_optimizer_state(program: Write, audited: Runner) -> None:
    source = program("""
        import torch

        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9, foreach=False)
        weight.grad = torch.ones(3)
        optimizer.step()
        weight.data = weight.data.cuda()
        weight.grad = torch.ones(3, device="cuda")
        optimizer.step()  # the momentum stayed on the CPU
    """)
    finding = audited(source, "--simulate", "2").mismatch()
    assert (finding["operator"], finding["overload"]) == ("aten::add_", "Tensor")
    assert [row[:2] for row in facts(finding)] == [("self", "cpu"), ("other", "cuda:0")]
    assert finding["phase"] == "optimizer"
    assert finding["site"]["line"] == source.line("the momentum stayed")


def test_caught(program: Write, audited: Runner) -> None:
    source = program("""
        import torch

        for attempt in range(3):
            try:
                total = torch.ones(2, device="cuda") + torch.ones(2)
            except RuntimeError:
                print("attempt", attempt)
    """)
    outcome = audited(source, "--simulate", "2")
    finding = outcome.mismatch()
    assert outcome.returncode == 0
    assert outcome.stdout == "attempt 0\nattempt 1\nattempt 2\n"
    assert finding["caught"] is True
    assert finding["count"] == 3


def test_caught_inside_an_operator(program: Write, audited: Runner) -> None:
    """An operator that tries and falls back has not failed."""
    source = program("""
        import torch

        library = torch.library.Library("example", "DEF")
        library.define("tolerant_add(Tensor left, Tensor right) -> Tensor")

        def tolerant_add(left, right):
            try:
                return left + right
            except RuntimeError:
                return left + right.to(left.device)

        library.impl("tolerant_add", tolerant_add, "CUDA")
        print(torch.ops.example.tolerant_add(torch.ones(2, device="cuda"), torch.ones(2)).device)
    """)
    outcome = audited(source, "--simulate", "2")
    assert (outcome.returncode, outcome.stdout) == (0, "cuda:0\n")
    assert outcome.findings("mismatch") == []


def test_error_of_a_legal_mix(program: Write, audited: Runner) -> None:
    """CPU indices may meet a CUDA tensor: what raises here is their shape and their range."""
    source = program("""
        import torch

        table = torch.ones(3, 4, device="cuda")
        for rows in (torch.ones(5, dtype=torch.bool), (torch.tensor([0, 1]), torch.tensor([0, 1, 2]))):
            try:
                table[rows]
            except IndexError as error:
                print(error)
        table[torch.tensor([0]), 7]
    """)
    outcome = audited(source, "--simulate", "2")
    assert outcome.stdout == (
        "The shape of the mask [5] at index 0 does not match the shape of the indexed tensor [3, 4] at index 0\n"
        "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]\n"
    )
    assert outcome.returncode == 1
    assert outcome.error == "index 7 is out of bounds for dimension 1 with size 4"
    assert outcome.findings("mismatch") == []
