"""Limits, closed descriptors, bad directories and full disks: the program does not feel them, and is told once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import Run
from .journal import read_journals

FINDINGS = 40
ENDS_HERE = "device-audit: the journal "
DONE = "0 signals, sum 2\n"


@pytest.fixture
def limited(same: Run, programs: Path):
    """Runs many_findings by a shell, after `before` and with `redirected` descriptors; it ends as it always does."""

    def run(before: str = ":", redirected: str = "", steps: str = "", **variables: str):
        program = programs / "many_findings"
        outcome = same("/bin/sh", "-c", f"{before}; exec {program} {FINDINGS} {steps} {redirected}", **variables)
        assert outcome.code == 4
        return outcome

    return run


@pytest.mark.parametrize("kibibytes", [0, 1, 16])
def test_a_limit_on_file_sizes(limited, kibibytes: int) -> None:
    """It raises SIGXFSZ, which ends a program, in whoever writes."""
    outcome = limited(f"ulimit -f {2 * kibibytes}")
    assert outcome.stdout == DONE
    assert outcome.journal.path.stat().st_size <= kibibytes * 1024
    assert 0 <= len(outcome.journal.findings) < FINDINGS
    assert [block for block in outcome.blocks if "journal" in block] == [
        f"{ENDS_HERE}{outcome.journal.path} ends here: the file would grow over the limit on file sizes (ulimit -f)"
        " (errno 27). What is found from now on is only said, not kept\n"
    ]
    assert sum("invalid in aten::mm" in block for block in outcome.blocks) == FINDINGS


def test_a_limit_that_only_the_counts_meet(limited) -> None:
    """Counted in memory, and written as records at the end."""
    outcome = limited("ulimit -f 250")
    findings = outcome.journal.findings
    assert [finding["slot"] for finding in findings] == [None] * FINDINGS
    assert not outcome.journal.path.with_suffix(".counts").exists()
    counts = {record["finding"]: record["count"] for record in outcome.journal.of_type("counts")}
    assert counts == {finding["id"]: 1 for finding in findings}


def test_no_more_descriptors(limited) -> None:
    outcome = limited(steps="few-files")
    assert outcome.stdout == f"no more files: 1\n{DONE}"
    assert outcome.journal.summary == [("invalid", "aten::mm", 1)] * FINDINGS


def test_no_more_descriptors_in_a_child(limited) -> None:
    """Which would have to open a journal of its own."""
    outcome = limited(steps="few-files fork")
    assert outcome.stdout == f"no more files: 1\n{DONE}"
    assert outcome.journal.findings == []
    (said,) = (block for block in outcome.blocks if "journal" in block)
    assert said.startswith(ENDS_HERE)
    assert "the process has too many open files (ulimit -n)" in said
    assert sum("invalid in aten::mm" in block for block in outcome.blocks) == FINDINGS


@pytest.mark.parametrize(
    ("closed", "descriptor"), [("0<&-", 0), ("1>&-", 1), ("2>&-", 2), ("2>&- 0<&-", 0), ("0<&- 1>&- 2>&-", 0)]
)
def test_closed_descriptors(limited, tmp_path: Path, closed: str, descriptor: int) -> None:
    """A file that the program opens gets the number of one: nothing of ours is written into it."""
    outcome = limited(redirected=closed, steps="open")
    with_us, without = ((tmp_path / run / "opened").read_text(encoding="utf-8") for run in ("audited", "alone"))
    assert with_us == without
    if "1>&-" not in closed:
        assert outcome.stdout == f"descriptor {descriptor}\n{DONE}"
    assert len(outcome.journal.findings) == FINDINGS
    assert len(outcome.blocks) == (0 if "2>&-" in closed else FINDINGS)


@pytest.mark.parametrize(
    ("directory", "why"),
    [
        ("/proc/device-audit", "no such file or folder"),
        ("{tmp}/file/audit", "a part of the path is no folder"),
        ("{tmp}/file", "a part of the path is no folder"),
        ("{tmp}/link", "it is a symbolic link, which is not followed"),
        ("{tmp}/dangling", "it is a symbolic link, which is not followed"),
        ("{tmp}/" + 300 * "x", "the path is too long"),
    ],
    ids=["/proc", "below a file", "a file", "a link", "a dangling link", "a long name"],
)
def test_a_directory_that_cannot_be_used(limited, tmp_path: Path, directory: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "dangling").symlink_to("nowhere")
    directory = directory.format(tmp=tmp_path)
    outcome = limited(DEVICE_AUDIT_OUTPUT=directory)
    assert [block for block in outcome.blocks if "no journal" in block] == [
        f"device-audit: no journal: the directory {directory} cannot be used: {why}."
        " Name another with DEVICE_AUDIT_OUTPUT\n"
    ]
    assert sum("invalid in aten::mm" in block for block in outcome.blocks) == FINDINGS
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_a_directory_of_another_user(limited, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a directory away")
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o777)
    os.chown(foreign, 65534, 65534)
    outcome = limited(DEVICE_AUDIT_OUTPUT=str(foreign))
    assert "cannot be used: it belongs to another user" in outcome.blocks[0]
    assert list(foreign.iterdir()) == []


def test_folders_that_are_not_there_yet(limited, tmp_path: Path) -> None:
    directory = tmp_path / "not" / "there" / "yet"
    limited("umask 0", DEVICE_AUDIT_OUTPUT=str(directory))
    (journal,) = read_journals(directory)
    assert len(journal.findings) == FINDINGS
    modes = [path.stat().st_mode & 0o777 for path in (directory, journal.path, journal.path.with_suffix(".counts"))]
    assert modes == [0o700, 0o600, 0o600]


def test_no_home(limited) -> None:
    outcome = limited("unset HOME XDG_CACHE_HOME")
    assert len(outcome.journal.findings) == FINDINGS


MOUNTED = """
mount -t tmpfs -o {options},mode=700 none {folder} || exit 77
{program} {findings}
code=$?
cp -r {folder} {copy}
exit $code
"""


@pytest.fixture
def mounted(alone: Run, audited: Run, programs: Path, tmp_path: Path):
    """Runs many_findings with its directory on a small disk of its own; the journals that got there, and our blocks."""
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("no private mounts here: a full and a read-only disk are not tried")

    def run(options: str):
        folder, copy = tmp_path / "disk", tmp_path / "copy"
        folder.mkdir()
        script = MOUNTED.format(
            options=options, folder=folder, copy=copy, program=programs / "many_findings", findings=FINDINGS
        )
        with_us = audited(*unshare, "/bin/sh", "-c", script, DEVICE_AUDIT_OUTPUT=str(folder))
        if with_us.code == 77:
            pytest.skip("a private mount is refused: a full and a read-only disk are not tried")
        assert with_us.seen == alone(programs / "many_findings", str(FINDINGS)).seen
        return read_journals(copy), with_us.blocks

    return run


@pytest.mark.parametrize("kibibytes", [64, 192], ids=["no room for the counts", "room for the counts"])
def test_a_full_disk(mounted, kibibytes: int) -> None:
    """Whole records up to where it is full, and no SIGBUS from the mapped counts."""
    (journal,), blocks = mounted(f"size={kibibytes}k")
    assert 0 < len(journal.findings) < FINDINGS
    assert journal.path.with_suffix(".counts").exists() == (kibibytes > 128)
    (said,) = (block for block in blocks if "journal" in block)
    assert "ends here: no space left on the device" in said
    assert len(blocks) == FINDINGS + 1


def test_a_read_only_disk(mounted) -> None:
    journals, blocks = mounted("ro")
    assert journals == []
    (said,) = (block for block in blocks if "journal" in block)
    assert said.startswith("device-audit: the journal ")
    assert "the file system is read-only" in said
    assert len(blocks) == FINDINGS + 1
