"""Unchanged programs on simulated GPUs: what works there, and what PyTorch says where it does not."""

from __future__ import annotations

import ast

import pytest

from . import cases
from .conftest import HERE, STARTED


@pytest.mark.parametrize("name", cases.names("operations.py"))
def test_an_operation_runs(outcomes, name: str) -> None:
    assert outcomes("operations.py")[0][name] is None


def test_nothing_is_said_about_operations_but_that_the_gpus_are_simulated(outcomes) -> None:
    assert outcomes("operations.py")[1] == STARTED(2)


def texts() -> dict[str, str]:
    tree = ast.parse((HERE / "errors.py").read_text())
    return {
        node.name: " ".join(ast.get_docstring(node).split())
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("name", cases.names("errors.py"))
def test_an_error_is_pytorchs_own(outcomes, name: str) -> None:
    error = outcomes("errors.py")[0][name]
    assert error is not None
    assert error.startswith(texts()[name])
