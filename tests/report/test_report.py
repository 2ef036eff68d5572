"""`device-audit report` on written journals."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .conftest import SCHEMA, Command
from .journals import START, Journal, finding, line, operand, place

Report = Callable[[], dict[str, Any]]


def described(schema: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every member that the schema describes, with its path."""
    for name, part in schema.get("properties", {}).items():
        yield f"{where}/{name}", part
        yield from described(part, f"{where}/{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from described(schema[key], where)
    for part in schema.get("anyOf", []):
        yield from described(part, where)
    for name, part in schema.get("$defs", {}).items():
        yield from described(part, f"{where}/{name}")


def test_schema_is_one_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    members = list(described(SCHEMA, ""))
    assert len(members) > 150
    assert [where for where, part in members if not part.get("description")] == []


def test_empty_parts_are_there(directory: Path, report: Report) -> None:
    Journal(directory, 7).runtime()
    rendered = report()
    assert list(rendered) == list(SCHEMA["properties"])
    assert rendered["findings"] == rendered["modules"] == rendered["batches"] == []
    assert rendered["transfers"] == {"by_direction": [], "by_site": []}


def test_whole_finding(directory: Path, report: Report) -> None:
    journal = Journal(directory, 7).runtime()
    origin = place("/home/user/train.py", 31) | {"operator": "aten::randint"}
    journal.found(
        3,
        (5, START + 2_000_000_000, 64, 9),
        operands=[operand("self", "cuda:0"), operand("target", "cpu", name="labels", stray=True, origin=origin)],
        fix={"file": "train.py", "line": 42, "before": None, "after": "labels = labels.cuda()", "text": "Move them."},
        cause="target-not-moved",
        module={"path": "head", "class": "Linear"},
    )
    journal.write("uncaught", kind="RuntimeError", text="Expected all tensors", stack=[], finding=3)
    journal.end(1)
    (found,) = report()["findings"]
    assert (found["id"], found["verdict"], found["caught"]) == ("F01", "mismatch", False)
    assert found["count"] == 5
    assert (found["bytes"], found["duration_ns"]) == (64, 9)
    assert found["last_seen"] == "2026-12-01T16:00:02.000Z"
    assert found["operands"][1]["origin"] == origin
    assert found["operands"][0]["shape"] == [2, 3]
    assert found["fix"]["after"] == "labels = labels.cuda()"
    assert found["module"] == {"path": "head", "class": "Linear"}
    assert found["ended"] == found["processes"] == [0]


def test_ranks_are_one_report(directory: Path, report: Report) -> None:
    for rank in (1, 0, 2):
        journal = Journal(directory, 100 + rank, rank=rank, world_size=3).runtime()
        journal.found(0, (10 + rank, START, 0, 0), verdict="implicit", devices=[f"cuda:{rank}", "cpu"])
    rendered = report()
    assert [process["rank"] for process in rendered["processes"]] == [0, 1, 2]
    (found,) = rendered["findings"]
    assert found["processes"] == [0, 1, 2]
    assert found["count"] == 33
    assert [share["count"] for share in found["by_process"]] == [10, 11, 12]


def test_damage_is_skipped_and_told(command: Command, directory: Path) -> None:
    journal = Journal(directory, 7).runtime().found(0)
    text = journal.path.read_text()
    journal.path.write_text(text.replace("2.15.0", "2.14.0") + line(9, "end", code=0) + '{"crc":"0123')
    done = command("report", directory, "--format", "json")
    assert done.returncode == 0
    assert done.stderr == (
        "device-audit: 7.jsonl: 1 damaged lines skipped, 7 sequence numbers missing\n"
        "device-audit: 7.jsonl: the last line is cut off\n"
    )
    rendered = json.loads((directory / "report.json").read_text())
    assert len(rendered["findings"]) == 1
    assert rendered["processes"][0]["torch"] is None
    assert rendered["processes"][0]["journal"]["damaged"] == 1


def test_newer_and_odd_journals(directory: Path, report: Report) -> None:
    journal = Journal(directory, 7, journal=99, mood="good", rank="first", command="no list").runtime()
    journal.write("novelty", anything=[1, {"x": None}])
    journal.found(0, verdict="surprise", operands="none", site=[1], devices=None, error={"x": 1}, native=[[0], 7])
    journal.found(1, operands=[operand("self", "cpu", shape=["N", 3], stray="yes"), 4])
    (process,) = (rendered := report())["processes"]
    assert process["journal"]["version"] == 99
    assert process["rank"] is None
    assert len(rendered["findings"]) == 2


def test_counts_file_may_be_missing(directory: Path, report: Report) -> None:
    journal = Journal(directory, 7).runtime().found(0, (12, START, 0, 0))
    journal.path.with_suffix(".counts").unlink()
    assert report()["findings"][0]["count"] == 1


def test_names_that_are_no_utf8_and_control_characters(command: Command, directory: Path) -> None:
    odd = directory / os.fsdecode(b"caf\xe9\x1b[2J")
    odd.mkdir()
    Journal(odd, 7).runtime().found(0, site=place("/x\x1b[31m.py", 1))
    done = command("report", odd, "--format", "json,text", text=False)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout.split(b"\n", 1)[1]
    json.loads((odd / "report.json").read_text(encoding="utf-8"))


def test_text_is_printed_and_kept(command: Command, directory: Path) -> None:
    Journal(directory, 7).runtime().found(0)
    done = command("report", directory, "--format", "text")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (directory / "report.txt").read_text()
    assert "F01 mismatch in aten::nll_loss_forward (cross_entropy_loss)\n  at /home/user/train.py:42" in done.stdout


def test_forms_not_built_yet_are_left_out(command: Command, directory: Path) -> None:
    Journal(directory, 7)
    done = command("report", directory)
    assert (done.returncode, done.stdout) == (0, f"{directory}/report.json\n")
    if "html" in done.stderr:
        assert done.stderr == "device-audit: html: not built yet, left out\n"


def test_several_directories(command: Command, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Journal(tmp_path / name, 7)
    done = command("report", "a", "b", "none", "--format", "json")
    assert done.stdout == f"{tmp_path}/a/report.json\n{tmp_path}/b/report.json\n"
    assert f"{tmp_path}/none: No such file or directory" in done.stderr
    assert done.returncode == 2


def test_no_journal(command: Command, directory: Path) -> None:
    (directory / "notes.jsonl").write_text("")
    done = command("report", directory)
    assert done.returncode == 2
    assert "no journal (<pid>.jsonl) lies there" in done.stderr
    assert [path.name for path in directory.iterdir()] == ["notes.jsonl"]


def test_report_that_cannot_be_written(command: Command, directory: Path) -> None:
    Journal(directory, 7)
    (directory / "report.txt").mkdir()
    done = command("report", directory, "--format", "json,text")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "device-audit" in done.stdout  # what is for reading can still be read
    assert (directory / "report.json").exists()


def test_a_link_is_replaced_and_not_followed(command: Command, directory: Path, tmp_path: Path) -> None:
    Journal(directory, 7)
    (tmp_path / "precious").write_text("mine")
    (directory / "report.json").symlink_to(tmp_path / "precious")
    assert command("report", directory, "--format", "json").returncode == 0
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (directory / "report.json").is_symlink()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "subcommand is required"),
        (["report"], "DIR is required"),
        (["report", ".", "--format", "pdf"], "'pdf' is not accepted, but: html, json, text, sarif"),
        (["report", ".", "--format"], "--format needs a value"),
    ],
)
def test_wrong_usage(command: Command, arguments: list[str], part: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr


def test_help_and_version(command: Command) -> None:
    assert command("--version").stdout.startswith("device-audit ")
    for arguments in (["--help"], ["run", "--help"], ["report", "--help"]):
        done = command(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "device-audit" in done.stdout or "DIR" in done.stdout


def test_many_findings(directory: Path, report: Report) -> None:
    journal = Journal(directory, 7).runtime()
    records = [line(seq, "finding", **finding(seq, site=place("a.py", seq))) for seq in range(2, 2_000)]
    with journal.path.open("a") as file:
        file.writelines(records)
    assert len(report()["findings"]) == 1_998
