"""The checks that hold the built core against its table: they pass on the library, and see what they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def test_the_core_passes(core):
    checked = check(ROOT / "scripts" / "check-elf", core)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_faults_are_named(library):
    faulty = library("extension.cpp", "-Wl,-z,lazy,-rpath,/somewhere,-z,execstack")
    checked = check(ROOT / "scripts" / "check-elf", faulty)
    assert checked.returncode == 1
    for fault in (
        "needs libstdc++.so.6, which a process may lack",
        "does not need libdl.so.2",
        "is bound lazily",
        "has an RPATH",
        "wants _Unwind_Resume@GCC_3.0",
        "exports throw_and_catch, which is not in hook/hooked_names.def",
        "does not export dlopen of hook/hooked_names.def",
        "asks for an executable stack",
    ):
        assert fault in checked.stderr


def test_a_new_glibc_and_large_or_dynamic_thread_variables_are_named(library):
    checked = check(ROOT / "scripts" / "check-elf", library("relay.c"))
    assert "wants dlopen@GLIBC_2.34" in checked.stderr
    checked = check(ROOT / "scripts" / "check-elf", library("thread_variables.c"))
    assert "__tls_get_addr" in checked.stderr
    assert "has 1000 bytes of thread-local variables" in checked.stderr


def test_the_page_of_settings_is_made_from_the_table():
    checked = check(ROOT / "scripts" / "settings-doc", "--check")
    assert (checked.returncode, checked.stderr) == (0, "")
