"""The command on its own: plain programs and written journals, no torch."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "report" / "schema.json").read_text(encoding="utf-8"))

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tool: Path, environment: dict[str, str], tmp_path: Path) -> Command:
    """Runs `device-audit` in a folder of its own."""

    def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        standard = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 60}
        standard |= {"stdin": subprocess.DEVNULL} if "input" not in options else {}
        return subprocess.run([str(each) for each in (tool, *arguments)], **standard | options)

    return run


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory for journals."""
    path = tmp_path / "recording"
    path.mkdir()
    return path


@pytest.fixture
def report(command: Command, directory: Path) -> Callable[[], dict[str, Any]]:
    """Renders the directory, and holds the result to the schema."""

    def render() -> dict[str, Any]:
        done = command("report", directory, "--format", "json")
        assert done.returncode == 0, done.stderr
        rendered = json.loads((directory / "report.json").read_text(encoding="utf-8"))
        jsonschema.validate(rendered, SCHEMA, jsonschema.Draft202012Validator)
        return rendered

    return render


@pytest.fixture
def installed_elsewhere(tool: Path, build: Path, tmp_path: Path) -> Path:
    """The command and its libraries in a folder whose name LD_PRELOAD cannot carry."""
    root = tmp_path / "my tools: new"
    (root / "bin").mkdir(parents=True)
    shutil.copy(tool, root / "bin")
    (root / "lib").symlink_to(build / "lib")
    return root / "bin" / tool.name
