"""`device-audit doctor` and `setup`: what they find in real environments, and what they say about gaps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Command

Doctor = Callable[..., "tuple[int, dict[str, str]]"]


@pytest.fixture
def doctor(command: Command) -> Doctor:
    """The exit code and, by name, the marked lines (the last of several of one name)."""

    def ask(*arguments: str | Path, **options: object) -> tuple[int, dict[str, str]]:
        done = command("doctor", *arguments, **options)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "gap "))]
        return done.returncode, {line[5:].split("  ")[0]: line for line in lines}

    return ask


@pytest.fixture(scope="session")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a venv that has nothing in it."""
    folder = tmp_path_factory.mktemp("venv") / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture
def other_torch(without_torch: Path, build: Path, tmp_path: Path) -> dict[str, str]:
    """PYTHONPATH to a torch that no adapter is for: only its version and a library with a build-id are looked at."""
    package = tmp_path / "packages" / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('torch is not to be imported')\n")
    (package / "version.py").write_text("__version__ = '9.9.0+cu132'\ncuda: str = '13.2'\n")
    shutil.copy(build / "lib" / "libdevice_audit.so", package / "lib" / "libtorch_cpu.so")
    return {"PYTHONPATH": str(package.parent)}


@pytest.fixture
def elsewhere(tool: Path, build: Path, tmp_path: Path) -> Path:
    """The command with all of its libraries but the adapter."""
    root = tmp_path / "elsewhere"
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    shutil.copy(tool, root / "bin")
    for library in (build / "lib").iterdir():
        if library.name.startswith("libdevice_audit") and library.name != "libdevice_audit_torch.so":
            (root / "lib" / library.name).symlink_to(library)
    (root / "lib" / "libdevice_audit.so").unlink()  # it looks beside the file itself, not beside a link to it
    shutil.copy(build / "lib" / "libdevice_audit.so", root / "lib")
    return root / "bin" / tool.name


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_this_environment(doctor: Doctor, build: Path, python: str) -> None:
    code, lines = doctor("--python", python)
    assert code == 0, lines
    version = ".".join(map(str, sys.version_info[:3]))
    assert lines["Python"] == f"ok   Python          {version} at {python}"
    assert f"{os.sep}torch, C++11 ABI, build-id " in lines["torch"]
    assert lines["adapter"].startswith(f"ok   adapter         {build}/lib/libdevice_audit_torch.so")
    assert lines["CUDA"].startswith("ok ")
    assert lines["simulated GPUs"] == f"ok   simulated GPUs  for CUDA 13, in {build}/lib"
    assert lines["core"] == f"ok   core            {build}/lib/libdevice_audit.so can be preloaded"


def test_the_active_python(doctor: Doctor, environment: dict[str, str], without_torch: Path, tmp_path: Path) -> None:
    _, lines = doctor(env=environment | {"VIRTUAL_ENV": str(without_torch)})
    assert lines["Python"].endswith(f" at {without_torch}/bin/python")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    environment.pop("VIRTUAL_ENV", None)
    _, lines = doctor(env=environment | {"PATH": str(programs)})
    assert lines["Python"].endswith(f" at {programs}/python3")
    code, lines = doctor(env=environment | {"PATH": str(tmp_path)})
    assert (code, lines["Python"].split(";")[0]) == (1, "gap  Python          no python3 in PATH")


def test_no_torch(doctor: Doctor, without_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()  # a folder where the command runs is no package of that Python
    (tmp_path / "json.py").write_text("raise ImportError\n")
    code, lines = doctor("--python", without_torch)
    assert code == 1
    assert lines["torch"].startswith("gap  torch           none in that Python; install torch there")
    assert "adapter" not in lines


@pytest.mark.parametrize("program", ["/bin/true", "/bin/sh", "/etc/passwd", "/nowhere/python"])
def test_no_python(doctor: Doctor, program: str) -> None:
    code, lines = doctor("--python", program)
    assert code == 1
    assert lines["Python"].startswith(f"gap  Python          {program}")


def test_torch_without_an_adapter(
    doctor: Doctor, environment: dict[str, str], other_torch: dict[str, str], without_torch: Path, tmp_path: Path
) -> None:
    code, lines = doctor("--python", without_torch, env=environment | other_torch | {"XDG_CACHE_HOME": str(tmp_path)})
    assert code == 1
    assert lines["torch"].startswith(f"ok   torch           9.9.0+cu132 in {tmp_path}/packages/torch, C++ ABI unknown")
    assert "was built for another torch" in lines["adapter"]
    assert lines["adapter"].endswith(f"; run: device-audit setup --python {without_torch}/bin/python")
    assert lines["CUDA"].startswith("ok   CUDA            13.2")


def test_torch_that_lacks_its_library(
    doctor: Doctor, environment: dict[str, str], other_torch: dict[str, str], without_torch: Path
) -> None:
    (Path(other_torch["PYTHONPATH"]) / "torch" / "lib" / "libtorch_cpu.so").unlink()
    code, lines = doctor("--python", without_torch, env=environment | other_torch)
    assert code == 1
    assert "has no lib/libtorch_cpu.so; install torch again" in lines["torch"]


def test_settings_and_preloads(command: Command, environment: dict[str, str], python: str, build: Path) -> None:
    ours = build / "lib" / "libdevice_audit.so"
    given = {"DEVICE_AUDIT_MODE": "fast", "DEVICE_AUDIT_WHAT": "1", "LD_PRELOAD": f"{ours}:/nowhere/other.so"}
    done = command("doctor", "--python", python, env=environment | given)
    assert done.returncode == 0
    assert "DEVICE_AUDIT_MODE=fast is ignored: accepted is full, adaptive, errors; used is full" in done.stdout
    assert "DEVICE_AUDIT_WHAT=1 is ignored: no such setting" in done.stdout
    assert "gap  LD_PRELOAD      /nowhere/other.so is not there" in done.stdout
    assert done.stdout.count("LD_PRELOAD  ") == 1
    done = command("doctor", "--python", python, env=environment | {"DEVICE_AUDIT": "0"})
    assert done.returncode == 1
    assert "DEVICE_AUDIT=0: nothing is recorded; unset DEVICE_AUDIT" in done.stdout


def test_every_setting(command: Command, environment: dict[str, str]) -> None:
    done = command("doctor", "--env", env=environment | {"DEVICE_AUDIT_SIMULATE": "2"})
    assert done.returncode == 0
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["DEVICE_AUDIT_SIMULATE"] == ["2", "0", "set"]
    assert rows["DEVICE_AUDIT_MODE"] == ["full", "full"]


def test_a_core_that_is_not_there(tool: Path, environment: dict[str, str], python: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(tool, tmp_path / "bin")
    (tmp_path / "lib").mkdir()
    alone = [tmp_path / "bin" / tool.name, "doctor", "--python", python]
    done = subprocess.run(alone, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"gap  core            {tmp_path}/lib/libdevice_audit.so: No such file or directory" in done.stdout
    (tmp_path / "lib" / "libdevice_audit.so").write_text("no library")
    done = subprocess.run(alone, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "cannot be preloaded" in done.stdout


def test_set_up_already(command: Command, python: str, build: Path) -> None:
    done = command("setup", "--python", python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("already there: the adapter for torch ")
    assert done.stdout.endswith(f": {build}/lib/libdevice_audit_torch.so\n")


def test_set_up_without_torch(command: Command, without_torch: Path) -> None:
    done = command("setup", "--python", without_torch)
    assert said(done) == (
        f"device-audit: {without_torch}/bin/python has no torch: "
        "install it there, or name another Python with --python\n"
    )
    assert "no such program; name another" in said(command("setup", "--python", "/nowhere/python"))


def test_set_up_without_tools(
    command: Command, environment: dict[str, str], other_torch: dict[str, str], without_torch: Path, tmp_path: Path
) -> None:
    bare = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = command("setup", "--python", without_torch, env=environment | other_torch | bare)
    assert said(done) == (
        "device-audit: to build the adapter, PATH needs a C++ compiler (g++ or clang++), a C compiler (gcc or clang), "
        "cmake, ninja, readelf (binutils)\n"
    )
    assert not (tmp_path / "cache").exists()


def test_set_up_without_the_source(
    tool: Path, environment: dict[str, str], other_torch: dict[str, str], without_torch: Path, tmp_path: Path
) -> None:
    source = os.fsencode(ROOT)
    gone = source[:-1] + b"~"
    moved = tmp_path / "device-audit"
    moved.write_bytes(tool.read_bytes().replace(source + b"\0", gone + b"\0"))
    moved.chmod(0o755)
    done = subprocess.run(
        [moved, "setup", "--python", without_torch],
        env=environment | other_torch | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"the source that this device-audit was built from is gone: {os.fsdecode(gone)}; put it back" in said(done)


def test_set_up_that_fails(
    command: Command, environment: dict[str, str], other_torch: dict[str, str], without_torch: Path, tmp_path: Path
) -> None:
    """That torch has no headers."""
    done = command(
        "setup", "--python", without_torch, env=environment | other_torch | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    )
    error = said(done)
    log = error.rsplit(" in ", 1)[1].strip()
    assert "the build failed; all of its output is in" in error
    assert "version.h" in Path(log).read_text()
    left = [path.name for path in (tmp_path / "cache" / "device-audit").rglob("*") if path.is_file()]
    assert sorted(left) == sorted([Path(log).name, Path(log).stem + ".lock"])
