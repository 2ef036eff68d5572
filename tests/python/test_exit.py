"""What ended the program, and that nothing is asked afterwards."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from .conftest import HERE, Interpreter

START = (
    f"import sys; sys.path.insert(0, {str(HERE)!r}); import probe; probe.released.probe_at_exit(sys.argv[-1].encode());"
)


class Uncaught(NamedTuple):
    """One report of the probe's listener."""

    kind: str
    text: str
    functions: list[str]
    lines: list[int]
    codes: list[str]


def reports(path: Path) -> list[Uncaught | None]:
    if not path.exists():
        return []
    found: list[Uncaught | None] = []
    for record in path.read_text(encoding="utf-8").split("\x1c")[:-1]:
        if record == "none":
            found.append(None)
            continue
        kind, text, stack = record.split("\x1d")
        frames = [frame.split("\x1f") for frame in stack.split("\x1e")[:-1]]
        found.append(Uncaught(kind, text, [f[2] for f in frames], [int(f[1]) for f in frames], [f[3] for f in frames]))
    return found


ENDINGS = {
    "none": ("pass", 0, None),
    "system exit": ("sys.exit(3)", 3, None),
    "system exit with text": ("sys.exit('bye')", 1, None),
    "caught": ("try: raise RuntimeError('x')\nexcept RuntimeError: pass", 0, None),
    "runtime": ("raise RuntimeError('found cuda:0 and cpu')", 1, ("RuntimeError", "found cuda:0 and cpu")),
    "key": ("{}['weight']", 1, ("KeyError", "weight")),
    "no arguments": ("raise ValueError", 1, ("ValueError", "")),
    "not a string": ("raise ValueError(3)", 1, ("ValueError", "")),
    "several": ("raise TypeError('first', 2)", 1, ("TypeError", "first")),
    "interrupt": ("raise KeyboardInterrupt", 130, ("KeyboardInterrupt", "")),
    "own hook": ("sys.excepthook = lambda *_: None; raise RuntimeError('x')", 1, ("RuntimeError", "x")),
    "in another thread": ("import threading; t = threading.Thread(target=lambda: 1/0); t.start(); t.join()", 0, None),
    "prompt": ("sys.ps1 = '>'; sys.last_value = RuntimeError('x')", 0, None),
    "no exception": ("sys.last_value = sys.last_exc = 5", 0, None),
    "module of its own": (
        "class E(Exception): __module__ = 'torch'\nraise E('out of memory')",
        1,
        ("torch.E", "out of memory"),
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("way", ["script", "-c", "-m"])
def test_ending(interpreter: Interpreter, tmp_path: Path, name: str, way: str) -> None:
    body, code, expected = ENDINGS[name]
    text = f"{START}\n{body}\n"
    report = tmp_path / "report"
    if way == "script":
        result = interpreter.script(tmp_path, text, str(report))
    elif way == "-c":
        result = interpreter.run("-c", text, str(report))
    else:
        (tmp_path / "program.py").write_text(text)
        result = interpreter.run("-m", "program", str(report), PYTHONPATH=str(tmp_path))
    assert result.returncode in (code, -2 if code == 130 else code), result.stderr
    (found,) = reports(report)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.kind, found.text) == expected
        assert found.functions[0] == "<module>"
        assert found.codes[0] == ("" if way == "-c" else body.splitlines()[-1])


def test_frames_of_the_traceback(interpreter: Interpreter, tmp_path: Path) -> None:
    report = tmp_path / "report"
    text = (
        START
        + """
def inner(depth):
    if depth:
        return inner(depth - 1)
    raise RuntimeError("deep")

def outer():
    try:
        inner(3)
    finally:
        x = 1
outer()
"""
    )
    interpreter.script(tmp_path, text, str(report))
    (found,) = reports(report)
    assert found is not None
    assert found.functions == ["inner"] * 4 + ["outer", "<module>"]
    assert found.lines == [5, 4, 4, 4, 9, 12]
    assert found.codes[0] == 'raise RuntimeError("deep")'


def test_a_deep_traceback_is_cut(interpreter: Interpreter, tmp_path: Path) -> None:
    report = tmp_path / "report"
    interpreter.script(tmp_path, START + "\ndef f(n): return f(n + 1)\nf(0)\n", str(report))
    (found,) = reports(report)
    assert found is not None
    assert found.kind == "RecursionError"
    assert found.functions == ["f"] * 64


def test_no_code_of_the_users_runs(interpreter: Interpreter, tmp_path: Path) -> None:
    report = tmp_path / "report"
    text = (
        START
        + """
events = []
class Meta(type):
    def __getattribute__(cls, name): events.append(name); return super().__getattribute__(name)
class Loud(Exception):
    armed = False
    def __str__(self): events.append("str"); return "x"
    def __getattribute__(self, name): events.append(name); return super().__getattribute__(name)
    @property
    def args(self): events.append("args"); return ()
class Named(Exception, metaclass=Meta): pass
class Text(str):
    def __str__(self): events.append("text"); return self
sys.excepthook = lambda *_: events.clear()
import atexit, os
# runs after the listener, as it was registered before it
"""
    )
    early = "import atexit, os\natexit.register(lambda: (print(events), sys.stdout.flush()))\n"
    for error, kind, message in (
        ("Loud('argument')", "Loud", "argument"),
        ("Named('argument')", "Exception", "argument"),
        ("RuntimeError(Text('argument'))", "RuntimeError", ""),
    ):
        report.unlink(missing_ok=True)
        result = interpreter.script(tmp_path, early + text + f"raise {error}\n", str(report))
        assert result.stdout == "[]\n", (error, result.stdout, result.stderr)
        (found,) = reports(report)
        assert found is not None
        assert (found.kind, found.text) == (kind, message)


def test_os_exit_is_not_an_end(interpreter: Interpreter, tmp_path: Path) -> None:
    report = tmp_path / "report"
    interpreter.script(tmp_path, START + "\nimport os; os._exit(0)\n", str(report))
    assert reports(report) == []


def test_the_gate_is_closed_afterwards(interpreter: Interpreter, tmp_path: Path) -> None:
    """Whoever asks later, from an exit function or a destructor, gets nothing."""
    text = f"""
    import atexit, sys
    def late(when):
        probe.kept.probe_available() == 0 and not probe.stack(probe.kept) and print(when, flush=True)
    atexit.register(late, "registered before")
    class Destroyed:
        def __del__(self, kept=None):
            kept = self.kept
            print("destructor", kept.probe_available(), flush=True)
    {START}
    Destroyed.kept = probe.kept
    atexit.register(lambda: print("registered after", len(probe.stack()), flush=True))
    alive = Destroyed()
    """
    output = interpreter.passes(tmp_path, text, str(tmp_path / "report"))
    assert output.split("\n")[:-1] == ["registered after 1", "registered before", "destructor 0"]


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_that_ask_while_python_ends(interpreter: Interpreter, tmp_path: Path, threads: int) -> None:
    """A thread that is inside when finalisation begins gets out first: no crash, no hang."""
    text = f"""
    {START}
    import threading, time
    for _ in range({threads}):
        threading.Thread(target=probe.released.probe_forever, daemon=True).start()
    time.sleep(0.02)
    raise RuntimeError("end")
    """
    for attempt in range(10):
        report = tmp_path / f"report{attempt}"
        result = interpreter.script(tmp_path, text, str(report), timeout=20)
        assert result.returncode == 1, result.stderr
        (found,) = reports(report)
        assert found is not None


def test_a_forked_child_reports_for_itself(interpreter: Interpreter, tmp_path: Path) -> None:
    report = tmp_path / "report"
    text = f"""
    {START}
    import os
    child = os.fork()
    if not child:
        raise ValueError("the child's")
    os.waitpid(child, 0)
    """
    interpreter.script(tmp_path, text, str(report))
    first, second = reports(report)
    assert first is not None
    assert first.text == "the child's"
    assert second is None


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("torch.nn.Linear(2, 2)(torch.ones(1, 3))", "RuntimeError", "cannot be multiplied"),
        ("raise torch.OutOfMemoryError('CUDA out of memory.')", "torch.OutOfMemoryError", "CUDA out of memory."),
    ],
)
def test_errors_of_pytorch(
    probe: Path, python: str, environment: dict[str, str], tmp_path: Path, error: str, kind: str, text: str
) -> None:
    report = tmp_path / "report"
    Interpreter(python, 0, probe, environment).script(tmp_path, f"{START}\nimport torch\n{error}\n", str(report))
    (found,) = reports(report)
    assert found is not None
    assert found.kind == kind
    assert text in found.text
    assert found.codes[-1] == error


def host(build: Path, *arguments: str, environment: dict[str, str]) -> list[str]:
    program = build / "tests" / "device_audit_python_host"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    result = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert result.returncode == 0, (result.returncode, result.stdout, result.stderr)
    return result.stdout.splitlines()


def test_a_program_without_python(build: Path, environment: dict[str, str]) -> None:
    assert host(build, environment=environment) == ["before: version '' available 0 frames 0 site 0"]


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("pass", "none"),
        ("def work(): raise RuntimeError('boom')\nwork()", "RuntimeError: boom in work"),
        ("1/0", "ZeroDivisionError: division by zero in <module>"),
    ],
)
def test_a_program_with_its_own_python(
    interpreter: Interpreter, build: Path, environment: dict[str, str], code: str, ended: str
) -> None:
    where = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + (s.get_config_var('INSTSONAME') or ''))"
    library = Path(interpreter.run("-c", where).stdout.strip())
    if not library.suffix:
        library = library / f"libpython3.{interpreter.minor}.so.1.0"
    if ".so" not in library.name or not library.exists():
        pytest.skip(f"no {library}")
    lines = host(build, str(library), "import atexit; ask()\n" + code, environment=environment)
    version = lines[1].split("'")[1]
    assert version.startswith(f"3.{interpreter.minor}.")
    assert lines == [
        "before: version '' available 0 frames 0 site 0",
        f"mapped: version '{version}' available 0 frames 0 site 0",
        f"initialised: version '{version}' available 1 frames 0 site 0",
        f"inside: version '{version}' available 1 frames 1 site 1",
        f"run: {0 if ended == 'none' else -1}",
        f"native thread: version '{version}' available 0 frames 0 site 0",
        f"ended: {ended}",
        "finalised: 0",
        f"after: version '{version}' available 0 frames 0 site 0",
    ]
