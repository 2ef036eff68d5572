"""A script whose functions are cases: each is run, and what it raised is printed as a line of JSON."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def run(module: dict[str, Any]) -> None:
    """Runs the functions of `module`, its globals(), that are defined there, in order."""
    for name, function in list(module.items()):
        if getattr(function, "__module__", None) != "__main__" or name.startswith("_") or isinstance(function, type):
            continue
        try:
            function()
            error = None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        print(json.dumps({"name": name, "error": error}), flush=True)


def names(script: str) -> list[str]:
    """The names of the cases in a script, without importing it."""
    tree = ast.parse((HERE / script).read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
