"""`device-audit run` around plain programs: what they are given, and what is handed back."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .conftest import SCHEMA, Command

PRINT = "import os, sys; print(repr(sys.argv[1:]))"


def report_in(directory: Path) -> dict[str, Any]:
    rendered = json.loads((directory / "report.json").read_text())
    jsonschema.validate(rendered, SCHEMA, jsonschema.Draft202012Validator)
    return rendered


def ours(stderr: str) -> list[str]:
    return [text for text in stderr.splitlines() if text.startswith("device-audit: ")]


def test_two_lines_and_a_report(command: Command, tmp_path: Path) -> None:
    done = command("run", "--output", "out", "--", "sh", "-c", "echo to stdout; echo to stderr >&2; exit 3")
    directory = tmp_path / "out"
    assert (done.returncode, done.stdout) == (3, "to stdout\n")
    first, own, last = done.stderr.splitlines()
    assert first == f"device-audit: recording into {directory}"
    assert own == "to stderr"
    assert last == (
        "device-audit: nothing recorded: no PyTorch was seen in any process; "
        f"see {directory}/report.json or run: device-audit report {directory} --format text"
    )
    run = report_in(directory)["run"]
    assert run["command"][:2] == ["sh", "-c"]
    assert (run["exit"], run["signal"], run["cwd"]) == (3, None, str(tmp_path))
    assert command("report", directory, "--format", "text").returncode == 0


def test_quiet(command: Command) -> None:
    done = command("run", "-q", "--output", "out", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 255])
def test_exit_codes(command: Command, code: int) -> None:
    assert command("run", "-q", "--output", "out", "--", "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV])
def test_signals_that_end_the_program(command: Command, tmp_path: Path, number: signal.Signals) -> None:
    done = command("run", "-q", "--output", "out", "--", "sh", "-c", f"kill -{number.value} $$")
    assert done.returncode == 128 + number
    run = report_in(tmp_path / "out")["run"]
    assert (run["exit"], run["signal"]) == (128 + number, number)


def test_arguments_are_untouched(command: Command) -> None:
    arguments = ["a b", "", "line\nbreak", "--", "--mode", "-q", "%p", "[x,y]", "'\"", "$HOME", "é", "--help"]
    done = command("run", "-q", "--output", "out", "--", sys.executable, "-c", PRINT, *arguments)
    assert done.stdout == f"{arguments!r}\n"


def test_stdin_is_the_programs(command: Command) -> None:
    assert command("run", "-q", "--output", "out", "--", "cat", input="to be read").stdout == "to be read"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_stay_closed(command: Command, tmp_path: Path, closed: tuple[int, ...]) -> None:
    program = """
import os
missing = [fd for fd in range(3) if not os.path.exists(f"/proc/self/fd/{fd}")]
open("seen", "w").write(str(missing))
"""
    (tmp_path / "program.py").write_text(program)

    def close() -> None:
        for fd in closed:
            os.close(fd)

    done = command("run", "--output", "out", "--", sys.executable, "program.py", preexec_fn=close)
    assert done.returncode == 0
    # Python itself opens nothing in their place, so what is missing was missing for it.
    assert (tmp_path / "seen").read_text() == str(list(closed))
    assert all(json.loads(text) for text in (tmp_path / "out" / "run.jsonl").read_text().splitlines())


def test_ignored_sigchld_does_not_lose_the_exit_code(command: Command) -> None:
    program = "import signal, sys; sys.exit(5 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 6)"
    done = command(
        "run", "-q", "--output", "out", "--", sys.executable, "-c", program,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 5


def test_signals_are_as_given(command: Command) -> None:
    program = "print(open('/proc/self/status').read())"
    plain = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    done = command("run", "-q", "--output", "out", "--", sys.executable, "-c", program)
    for row in ("SigBlk", "SigIgn"):
        assert [x for x in done.stdout.splitlines() if x.startswith(row)] == [
            x for x in plain.splitlines() if x.startswith(row)
        ]


SLEEPER = """
import signal, sys, time
count = 0
def handle(number, frame):
    global count
    count += 1
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, handle)
print("ready", flush=True)
deadline = time.monotonic() + 20
while not count and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.3)
print("received", count)
sys.exit(9)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signals_are_passed_on(tool: Path, environment: dict[str, str], tmp_path: Path, name: str) -> None:
    run = subprocess.Popen(
        [tool, "run", "-q", "--output", tmp_path / "out", "--", sys.executable, "-c", SLEEPER],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(getattr(signal, name))
    assert run.stdout.read() == "received 1\n"
    assert run.wait(30) == 9


def test_control_c_reaches_the_program_once(tool: Path, environment: dict[str, str], tmp_path: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execve(
            tool, [tool, "run", "-q", "--output", tmp_path / "out", "--", sys.executable, "-c", SLEEPER], environment
        )
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    try:
        while data := os.read(terminal, 1000):
            seen += data
    except OSError:  # the other side is closed
        pass
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    assert b"received 1" in seen


def test_who_kills_us_kills_the_program(tool: Path, environment: dict[str, str], tmp_path: Path) -> None:
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    run = subprocess.Popen(
        [tool, "run", "-q", "--output", tmp_path / "out", "--", sys.executable, "-c", program],
        env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    pid = int(run.stdout.readline())
    run.kill()
    run.wait(30)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "Z":  # nobody here reaps it
            return
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_shell_scripts_with_and_without_first_line(command: Command, tmp_path: Path) -> None:
    for name, text in (("with", "#!/bin/sh\nexit 4\n"), ("without", "exit 4\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
        assert command("run", "-q", "--output", f"out-{name}", "--", f"./{name}").returncode == 4


def test_programs_are_found_in_path(command: Command, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "mine").write_text("#!/bin/sh\nexit 4\n")
    (tmp_path / "here" / "mine").chmod(0o755)
    environment["PATH"] = f"{tmp_path}/nowhere:{tmp_path}/here:{environment['PATH']}"
    assert command("run", "-q", "--output", "out", "--", "mine", env=environment).returncode == 4


@pytest.mark.parametrize(
    ("program", "code", "why"),
    [
        ("no-such-program", 127, "no such program in PATH"),
        ("./none", 127, "No such file or directory"),
        ("./data", 126, "it is not executable"),
        ("./orphan", 127, "its interpreter is not there"),
        ("/", 126, "it is not executable"),
        ("", 127, "no such program in PATH"),
    ],
)
def test_programs_that_cannot_start(command: Command, tmp_path: Path, program: str, code: int, why: str) -> None:
    (tmp_path / "data").write_text("data")
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o755)
    done = command("run", "--output", "out", "--", program)
    assert done.returncode == code
    assert done.stderr.splitlines()[-1] == f"device-audit: cannot start {program}: {why}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run"], "no program: device-audit run [settings] -- program arguments..."),
        (["run", "--"], "no program"),
        (["run", "true"], "not expected: true; the program and its arguments stand behind --"),
        (["run", "--mode", "fast", "--", "true"], "--mode: 'fast' is not accepted, but: full, adaptive, errors"),
        (["run", "--format", "json,pdf", "--", "true"], "'json,pdf' is not accepted, but: html, json, text, sarif"),
        (["run", "--simulate", "-1", "--", "true"], "--simulate"),
        (["run", "--simulate", "65", "--", "true"], "'65' is not accepted, but: 0 to 64"),
        (["run", "--simulate-memory", "much", "--", "true"], "a size such as 16GiB"),
        (["run", "--mode", "--", "true"], "--mode needs a value: full, adaptive, errors"),
        (["run", "--speed", "--", "true"], "not expected: --speed"),
    ],
)
def test_wrong_usage(command: Command, tmp_path: Path, arguments: list[str], part: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr
    assert list(tmp_path.iterdir()) == []


def variables_of(command: Command, *flags: str | Path, **options: Any) -> dict[str, str]:
    done = command("run", "--output", "out", *flags, "--", "env", "-0", **options)
    assert done.returncode == 0, done.stderr
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)


def test_settings_reach_the_program(command: Command, build: Path, tmp_path: Path) -> None:
    given = variables_of(command, "--mode", "errors", "--stacks", "", "--log-file", "x y")
    assert given["DEVICE_AUDIT_RUN"] == str(tmp_path / "out")
    assert given["DEVICE_AUDIT_MODE"] == "errors"
    assert given["DEVICE_AUDIT_STACKS"] == ""
    assert given["DEVICE_AUDIT_LOG_FILE"] == "x y"
    assert "DEVICE_AUDIT_ORIGINS" not in given
    assert given["LD_PRELOAD"] == str(build / "lib" / "libdevice_audit.so")


def test_a_flag_wins_over_the_environment(command: Command, environment: dict[str, str], tmp_path: Path) -> None:
    environment |= {"DEVICE_AUDIT_MODE": "adaptive", "DEVICE_AUDIT_FORMAT": "text", "DEVICE_AUDIT_LOG": "loud"}
    given = variables_of(command, "--mode", "errors", env=environment)
    assert (given["DEVICE_AUDIT_MODE"], given["DEVICE_AUDIT_LOG"]) == ("errors", "loud")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.txt", "run.jsonl"]


def test_other_preloads_stay(command: Command, build: Path, environment: dict[str, str]) -> None:
    core = str(build / "lib" / "libdevice_audit.so")
    environment["LD_PRELOAD"] = f"/old/libdevice_audit.so:{build}/lib/libdevice_audit.so libm.so.6"
    assert variables_of(command, env=environment)["LD_PRELOAD"] == f"{core}:libm.so.6"


def test_run_within_run(command: Command, tool: Path, tmp_path: Path) -> None:
    done = command("run", "-q", "--output", "a", "--", tool, "run", "-q", "--output", "b", "--", "env")
    assert f"DEVICE_AUDIT_RUN={tmp_path}/b\n" in done.stdout
    assert done.stdout.count("libdevice_audit.so") == 1


def test_library_path_with_space_and_colon(
    installed_elsewhere: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    program = ["sh", "-c", "echo $LD_PRELOAD; cat /proc/self/maps"]
    done = subprocess.run(
        [installed_elsewhere, "run", "--output", tmp_path / "out", "--", *program],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    preload, *maps = done.stdout.splitlines()
    assert "my tools" not in preload
    assert any(row.endswith("/libdevice_audit.so") for row in maps)
    assert "cannot be preloaded" not in done.stderr
    assert not Path(preload).exists()  # the link goes with the run


def test_directory_that_cannot_be_made(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for output, why in (("file", "it is no folder"), ("file/run", "Not a directory"), ("/proc/run", "")):
        done = command("run", "--output", output, "--", "sh", "-c", "echo $LD_PRELOAD; exit 3")
        assert (done.returncode, done.stdout) == (3, "\n")
        (said,) = ours(done.stderr)
        assert said.startswith("device-audit: nothing is recorded, the program runs by itself: ")
        assert output in said
        assert why in said
        assert said.endswith("name another directory with --output")


def test_no_two_runs_are_mixed(command: Command, tmp_path: Path) -> None:
    command("run", "-q", "--output", "out", "--", "true")
    done = command("run", "--output", "out", "--", "true")
    assert done.stderr.startswith(
        f"device-audit: recording into {tmp_path}/out-2, since the one asked for is not empty\n"
    )
    assert report_in(tmp_path / "out-2")["run"]["exit"] == 0


def test_pattern(command: Command, tmp_path: Path) -> None:
    command("run", "-q", "--output", "a%%/%t-%p", "--", "true")
    (directory,) = (tmp_path / "a%").iterdir()
    day, clock, pid = directory.name.split("-")
    assert (len(day), len(clock)) == (8, 6)
    assert int(pid) > 0


def test_simulation_is_preloaded_or_nothing_runs(command: Command, build: Path, environment: dict[str, str]) -> None:
    libraries = [build / "lib" / f"libdevice_audit{name}.so" for name in ("", "_simulate")]
    if libraries[1].exists():
        given = variables_of(command, "--simulate", "2", "--format", "json")
        assert given["LD_PRELOAD"].startswith(":".join(map(str, libraries)))
        assert given["DEVICE_AUDIT_SIMULATE"] == "2"
    else:
        done = command("run", "--simulate", "2", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (2, "")
        assert "no simulated GPUs" in done.stderr


def test_a_closed_stderr_reader_is_no_harm(tool: Path, environment: dict[str, str], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [tool, "run", "--output", tmp_path / "out", "--", "sh", "-c", "exit 6"], env=environment, stderr=write
    )
    os.close(write)
    assert done.returncode == 6
