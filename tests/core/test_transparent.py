"""With the core preloaded, a program without a libtorch runs as it does without: same output, exit code and signal."""

from __future__ import annotations

import signal
import subprocess

import pytest

LIBCXX_HEADERS = ["-nostdinc++", "-isystem", "/usr/include/c++/v1"]
LIBCXX = [*LIBCXX_HEADERS, "-nodefaultlibs", "-lc++", "-lc++abi", "-lm", "-lc", "-lgcc_s", "-lgcc"]
EXTENSION = "import ctypes; e = ctypes.CDLL({!r}); print([e.throw_and_catch(v) for v in range(1, 9)])"
SYSTEM_PYTHON = "/usr/bin/python3"


# Exceptions.


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-no-pie", "-fno-pie"),
        ("-static-libstdc++", "-static-libgcc"),
        ("-static",),
        ("-rdynamic", "-static-libstdc++"),
    ],
    ids=["dynamic", "not position-independent", "static runtime", "static", "exported static runtime"],
)
def test_exceptions_of_a_program(same, compiled, flags):
    outcome = same(compiled("throws.cpp", "-pthread", *flags))
    assert outcome.code == 0
    assert "exception_ptr: from a thread" in outcome.stdout


def test_exceptions_with_libcxx(same, compiled):
    outcome = same(compiled("throws.cpp", "-pthread", *LIBCXX))
    assert "exception_ptr: from a thread" in outcome.stdout


def test_an_exception_that_ends_the_program(same, compiled):
    outcome = same(compiled("terminates.cpp"))
    assert outcome.code == -signal.SIGABRT
    assert "nobody catches this" in outcome.stderr


RUNTIMES = {
    "libstdc++": [],
    "libstdc++ inside": ["-static-libstdc++", "-static-libgcc"],
    "libstdc++ inside, hidden": ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL"],
    "libc++": LIBCXX,
}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_extension_of_python(same, library, runtime):
    """Python loads it RTLD_LOCAL, and with it the C++ runtime: RTLD_NEXT does not reach that."""
    extension = library("extension.cpp", *RUNTIMES[runtime])
    outcome = same(SYSTEM_PYTHON, "-c", EXTENSION.format(str(extension)))
    assert outcome.stdout == "[5, -2, 5, -4, 5, -6, 5, -8]\n"


PROGRAMS = {"libstdc++": [], "not position-independent": ["-no-pie", "-fno-pie"], "libc++": LIBCXX}


@pytest.mark.parametrize(
    ("program", "mode"),
    # A program with libc++ crashes by itself where a library with libstdc++ binds to its own copy first.
    [(p, m) for p in PROGRAMS for m in ("now", "global", "deepbind") if (p, m) != ("libc++", "deepbind")],
)
def test_several_runtimes_in_one_process(same, compiled, library, program, mode):
    extensions = [library("extension.cpp", *flags) for flags in RUNTIMES.values()]
    outcome = same(compiled("loads.cpp", *PROGRAMS[program]), mode, *extensions, *reversed(extensions))
    assert outcome.stdout.count("5 -2 5 -4") == 2 * len(extensions)


def test_several_runtimes_in_python(same, library):
    """Unlike a C++ program, Python has no runtime in the global scope: each extension is bound to its own."""
    extensions = [str(library("extension.cpp", *flags)) for flags in (*RUNTIMES.values(), *reversed(RUNTIMES.values()))]
    script = "import ctypes\nfor e in {}: print([ctypes.CDLL(e).throw_and_catch(v) for v in range(1, 5)])"
    assert same(SYSTEM_PYTHON, "-c", script.format(extensions)).stdout == "[5, -2, 5, -4]\n" * len(extensions)


def test_another_hook_of_throw_is_called(run, compiled, library, core):
    """It is behind us in the list of preloads, and had these calls without us."""
    program, other = compiled("throws.cpp", "-pthread"), library("other_hook.c")
    without = run(program, preload=other)
    assert without.stdout.startswith("another hook\n")
    assert run(program, preload=f"{core} {other}") == without
    assert run(program, preload=f"{other}:{core}") == without


def test_a_sanitizer(run, compiled, core):
    program = compiled("throws.cpp", "-pthread", "-fsanitize=address")
    without = run(program)
    assert without.code == 0
    assert run(program, preload=core, ASAN_OPTIONS="verify_asan_link_order=0") == without


# dlopen.


@pytest.fixture
def plugins(library, tmp_path_factory):
    """A library that loads others from its folder plugins/, by its RUNPATH and by its RPATH."""
    made = {}
    for tag in ("enable", "disable"):
        relay = library("relay.c", "-Wl,-rpath,$ORIGIN/plugins", f"-Wl,--{tag}-new-dtags", name="librelay.so")
        folder = relay.parent / "plugins"
        folder.mkdir(exist_ok=True)
        (folder / "libplugin.so").write_bytes(library("plugin.c", name="libplugin.so").read_bytes())
        made[tag] = relay
    return made


@pytest.mark.parametrize("tag", ["enable", "disable"], ids=["RUNPATH", "RPATH"])
def test_a_bare_name_is_searched_along_the_callers_path(same, compiled, plugins, tag):
    outcome = same(compiled("loads.cpp"), "now", plugins[tag])
    assert "the plugin|the plugin|the plugin\n" in outcome.stdout


def test_a_bare_name_is_searched_along_the_programs_path(same, compiled, plugins):
    program = compiled("loads.cpp", f"-Wl,-rpath,{plugins['enable'].parent / 'plugins'}")
    outcome = same(program, "now", "libplugin.so")
    assert "libplugin.so: loaded\nthe plugin\n" in outcome.stdout


def test_failures_of_dlopen_read_the_same(same, compiled, tmp_path_factory):
    broken = tmp_path_factory.mktemp("broken") / "broken.so"
    broken.write_text("no library")
    outcome = same(
        compiled("loads.cpp"), "now", "libnowhere.so", "/nowhere/lib.so", "$ORIGIN/nowhere.so", "./lib.so", "", broken
    )
    assert outcome.stdout.count("cannot open shared object file") == 4
    assert "file too short" in outcome.stdout or "invalid ELF header" in outcome.stdout


def test_a_thread_throws_while_a_library_is_being_loaded(same, compiled, library):
    waiting = library("thread_in_constructor.cpp", "-pthread")
    for loaded in (waiting, waiting.name):
        outcome = same(compiled("loads.cpp", "-pthread"), "now", loaded, LD_LIBRARY_PATH=str(waiting.parent))
        assert "waited" in outcome.stdout


def test_constructors_that_load(same, compiled, library):
    plugin = library("plugin.c", name="libplugin.so")
    flags = (f'-DINNER="{plugin}"',)
    loader = library("load_in_constructor.c", *flags, name="libloader.so")
    outcome = same(compiled("loads.cpp"), "now", loader, loader.name, LD_LIBRARY_PATH=str(loader.parent))
    assert outcome.stdout.count("the plugin") == 2
    assert same(compiled("load_in_constructor.c", "-DPROGRAM", *flags)).stdout == "the plugin\n"


# The end of processes, and their children.


@pytest.mark.parametrize(
    ("way", "code"),
    [
        *((way, 7) for way in ("return", "exit", "_exit", "_Exit", "quick_exit", "signal", "vfork-exit", "fork-exit")),
        ("abort", -signal.SIGABRT),
        ("kill", -signal.SIGKILL),
    ],
)
def test_ways_to_end(same, compiled, way, code):
    assert same(compiled("ends.c"), way).code == code


@pytest.mark.parametrize("way", ["exec", "vfork-exec", "spawn"])
@pytest.mark.parametrize("linking", ["-static", "-dynamic"])
def test_a_child_program(same, compiled, way, linking):
    child = compiled("static_program.c", *(["-static"] if linking == "-static" else []))
    outcome = same(compiled("ends.c"), way, child, "last")
    assert "static with 2 arguments, the last last" in outcome.stdout
    assert outcome.code == (5 if way == "exec" else 7)


def test_children_of_a_shell(same, compiled):
    script = "true && (exit 3); echo $?; ls / | head -n 1; /usr/bin/env python3 -c 'print(1)'; exit 4"
    assert "shell 4" in same(compiled("ends.c"), "system", script).stdout


# What the process has and is.


def test_nothing_of_the_process_is_changed(same, compiled):
    outcome = same(compiled("state.c"))
    assert "errno 0, dlerror none" in outcome.stdout


@pytest.mark.parametrize("closed", ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-", "2</dev/null"])
def test_closed_descriptors(same, compiled, closed):
    same("/bin/sh", "-c", f"{compiled('throws.cpp', '-pthread')} {closed}; {compiled('state.c')} {closed}")


def test_system_calls_of_a_process_without_torch(core, environment, tmp_path):
    """Once it is loaded, the core costs a process one look at its stderr: no file, no thread, no signal."""

    def calls(*preload: str) -> list[str]:
        log = tmp_path / "strace"
        subprocess.run(["strace", "-f", "-o", str(log), *preload, "/bin/true"], check=True, env=environment)
        names = [line.split(maxsplit=1)[1].split("(")[0] for line in log.read_text().splitlines() if "(" in line]
        # The loader's own calls end where it unmaps its cache.
        return names[len(names) - names[::-1].index("munmap") :]

    assert calls("-E", f"LD_PRELOAD={core}") == ["fstat", *calls()]


def test_enable_without_a_torch(run, core):
    program = f"import ctypes; print(ctypes.CDLL({str(core)!r}).device_audit_enable())"
    assert run(SYSTEM_PYTHON, "-c", program).stdout == "0\n"
    assert run(SYSTEM_PYTHON, "-c", program, preload=core).stdout == "0\n"
