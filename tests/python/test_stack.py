"""Stacks and sites, as asked from inside a call that gave the GIL back or kept it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Interpreter


def test_frames_are_described(interpreter: Interpreter, tmp_path: Path) -> None:
    output = interpreter.passes(
        tmp_path,
        """
        import sys, probe

        class Net:
            def forward(self, library):
                return probe.stack(library)   # the line, without its indent

        for library in (probe.released, probe.kept):
            inner, outer = Net().forward(library)
            assert inner.file == outer.file == __file__, inner
            assert inner.function == ("Net.forward" if sys.version_info >= (3, 11) else "forward"), inner
            assert inner.code == "return probe.stack(library)   # the line, without its indent", inner
            assert inner.line == 5
            assert outer.function == "<module>" and outer.code == "inner, outer = Net().forward(library)", outer
            assert not inner.library and not inner.standard
        assert probe.released.probe_available() == probe.kept.probe_available() == 1
        print(probe.released.probe_version().decode() == sys.version.split()[0])
        """,
    )
    assert output == "True\n"


def test_a_thread_has_its_own_stack(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import threading, probe

        seen = []
        def work():
            seen.extend(probe.stack())
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
        functions = [frame.function.split(".")[-1] for frame in seen]
        assert functions == ["work", "run", "_bootstrap_inner", "_bootstrap"], seen
        assert [frame.standard for frame in seen] == [False, True, True, True]
        assert [frame.library for frame in seen] == [False, True, True, True]
        """,
    )


def test_a_native_thread_is_left_alone_while_the_gil_is_kept(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import probe
        assert probe.kept.probe_from_native_thread() == 0
        assert probe.released.probe_from_native_thread() == 0
        """,
    )


def test_depth_is_limited(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, probe
        sys.setrecursionlimit(20000)
        def down(levels):
            return down(levels - 1) if levels else (probe.stack(), probe.stack(limit=3), probe.stack(limit=0))
        for levels in (100, 900):
            usual, three, none = down(levels)
            assert len(usual) == 64 and len(three) == 3 and none == []
            assert usual[0].function == "down"
        """,
    )


def test_pending_error_and_errno_are_kept(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import probe
        try:
            probe.kept.probe_with_pending_error(b"mine")
        except ValueError as error:
            assert str(error) == "mine" and error.__context__ is None
        else:
            raise AssertionError("the pending error is gone")

        class Odd(Exception):
            def __init__(self, *arguments):
                raise AssertionError("normalised")
        try:
            raise KeyError("handled")
        except KeyError:
            import sys
            before = sys.exc_info()
            probe.stack(); probe.site()
            assert sys.exc_info() == before
        """,
    )


def test_errno_is_kept(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import ctypes, probe
        library = ctypes.CDLL(probe.PATH, use_errno=True)
        for errno in (0, 5):
            ctypes.set_errno(errno)
            library.probe_site(ctypes.byref(ctypes.c_int()))
            library.probe_free(library.probe_stack(64)) if False else library.probe_site_of()
            assert ctypes.get_errno() == errno
        """,
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_collector_is_as_before(interpreter: Interpreter, tmp_path: Path, enabled: bool) -> None:
    interpreter.passes(
        tmp_path,
        f"""
        import gc, probe
        gc.enable() if {enabled} else gc.disable()
        gc.set_threshold(1)
        collections = []
        probe.stack(); probe.site()
        gc.callbacks.append(lambda phase, info: collections.append(phase))
        for library in (probe.released, probe.kept):
            for _ in range(20):
                library.probe_site_of()
        assert gc.isenabled() is {enabled}
        if not {enabled}:
            assert not collections
        """,
    )


def test_a_deleted_local_is_freed_and_an_edited_one_stays(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, weakref, probe

        class Tensor: pass

        def work():
            tensor = Tensor()
            alive = weakref.ref(tensor)
            probe.stack(); probe.site()
            assert sys.getrefcount(tensor) <= 2
            del tensor
            assert alive() is None
            probe.stack(); probe.site()
            other = Tensor()
            return weakref.ref(other)

        assert work()() is None
        value = 1
        locals()["value"] = 2
        probe.stack(); probe.site()
        assert value == 2

        def edited():
            value = 1
            names = locals()
            names["value"] = 3
            names["new"] = 4
            probe.stack(); probe.site()
            assert names == {"value": 3, "new": 4, **({"names": names} if "names" in names else {})}, names
            return value
        assert edited() == 1
        """,
    )


def test_no_code_of_the_users_runs(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, probe

        events = []
        class Loud:
            def __getattribute__(self, name): events.append(name)
            def __repr__(self): events.append("repr")
            def __del__(self): events.append("del")
        loud = Loud()
        globals()["__name__"] = loud
        instruction = probe.ctypes.c_int()
        reference = probe.ctypes.byref(instruction)
        ask, other = probe.released.probe_site, probe.released.probe_site_of
        sys.addaudithook(lambda name, arguments: events.append(name))
        sys.setprofile(lambda frame, event, argument: events.append(event))
        ask(reference), other()
        sys.setprofile(None)
        theirs = {"c_call", "c_return", "ctypes.call_function", "sys.setprofile"}
        assert set(events) <= theirs, events
        """,
    )


def test_sources_that_cannot_be_read(interpreter: Interpreter, tmp_path: Path) -> None:
    odd = tmp_path / "latin"
    odd.mkdir()
    (odd / "latin1.py").write_bytes(b"# coding: latin-1\nimport probe\nname = 'caf\xe9'; frames = probe.stack()\n")
    interpreter.passes(
        tmp_path,
        r"""
        import os, sys, zipfile, probe
        folder = sys.argv[1]
        def frame_of(name, text="frames = probe.stack()"):
            space = {"probe": probe}
            exec(compile(text, "", "exec").replace(co_filename=name), space)
            return space["frames"][0]

        assert frame_of("<string>").code == frame_of("<ipython-input-1-abc>").code == frame_of("<stdin>").code == ""
        assert not frame_of("<string>").library
        assert frame_of("").code == "" and frame_of("/etc/hosts\0").code == ""
        assert frame_of("/").code == "" and frame_of("/dev/tty").code == "" and frame_of(folder).code == ""
        assert frame_of(folder + "/none.py").code == ""
        assert frame_of(__file__, "\n" * 4000 + "frames = probe.stack()").code == ""   # fewer lines than that
        os.mkfifo(folder + "/pipe")
        assert frame_of(folder + "/pipe").code == ""
        long = folder + "/long.py"
        with open(long, "w") as file:
            file.write("a = 1\n" + "  x" + "\u00e9" * 9000 + "\r\n")
        code = frame_of(long, "\nframes = probe.stack()").code
        assert code == "x" + "\u00e9" * 499, code
        undecodable = os.fsdecode(folder.encode() + b"/caf\xe9.py")
        with open(undecodable, "w") as file:
            file.write("found\n")
        assert frame_of(undecodable).code == "found" and frame_of(undecodable).file == undecodable
        assert frame_of("/\ud800/x.py").file == "/?/x.py"

        with zipfile.ZipFile(folder + "/z.zip", "w") as archive:
            archive.writestr("zipped.py", "import probe\nframes = probe.stack()\n")
        sys.path[:0] = [folder + "/z.zip", folder + "/latin"]
        import zipped, latin1
        assert zipped.frames[0].code == "" and zipped.frames[0].file.endswith("z.zip/zipped.py")
        assert latin1.frames[0].code == "name = 'caf\udce9'; frames = probe.stack()", latin1.frames[0].code
        """,
        str(tmp_path),
        PYTHONUTF8="1",
    )


@pytest.mark.parametrize("arguments", [["-c"], ["-m"]])
def test_ways_to_start(interpreter: Interpreter, tmp_path: Path, arguments: list[str]) -> None:
    text = "import probe; frames = probe.stack(); print([(f.function, f.code, f.library) for f in frames])"
    (tmp_path / "started.py").write_text(text)
    path = f"{interpreter.environment['PYTHONPATH']}:{tmp_path}"
    result = interpreter.run(*arguments, text if arguments == ["-c"] else "started", PYTHONPATH=path)
    frames = eval(result.stdout)
    assert result.returncode == 0
    assert not result.stderr
    assert frames[0] == ("<module>", "" if arguments == ["-c"] else text, False)
    assert [frame[2] for frame in frames[1:]] == ([] if arguments == ["-c"] else [True, True])


def test_owners_and_sites(interpreter: Interpreter, tmp_path: Path) -> None:
    """The user's line is found through torch, the standard library, and a library of others."""
    site_packages = tmp_path / "lib" / "site-packages"
    for package in ("torch", "lightning"):
        (site_packages / package).mkdir(parents=True)
        (site_packages / package / "__init__.py").write_text(
            "def call(function, *arguments):\n    return function(*arguments)\n"
        )
    interpreter.passes(
        tmp_path,
        """
        import functools, os, sys, threading
        sys.path.insert(0, sys.argv[1])
        import torch, lightning, probe

        def ask():
            return probe.released.probe_site_of(), probe.released.probe_site(reference), probe.stack()
        instruction = probe.ctypes.c_int()
        reference = probe.ctypes.byref(instruction)

        def kinds(frames):
            return [(frame.library, frame.standard) for frame in frames]
        user, of_torch, of_python = (False, False), (True, False), (True, True)

        index, code, frames = torch.call(ask)
        assert kinds(frames) == [user, of_torch, user], frames
        assert index == 0 and code == id(ask.__code__)

        # called by torch without a frame of the user's in between
        def user_line():
            return torch.call(probe.released.probe_site_of), torch.call(probe.released.probe_site, reference)
        assert user_line() == (1, id(user_line.__code__))
        assert instruction.value >= 0

        # a library of others is shown
        assert lightning.call(probe.released.probe_site_of) == 0

        # all of it torch's or Python's: torch's
        seen = []
        def run(target):
            thread = threading.Thread(target=target)
            thread.start(); thread.join()
        class Collect:
            def __init__(self, function): self.function = function
        torch.seen = seen
        exec(compile("def inner(function): seen.append(function())", torch.__file__, "exec"), torch.__dict__)
        run(functools.partial(torch.inner, probe.released.probe_site_of))
        assert seen == [0], seen
        # all of it Python's: the innermost
        run(functools.partial(map, seen.append, map(lambda _: 0, [])))
        code = compile("seen.append(ask())", os.__file__, "exec")
        space = {"seen": seen, "ask": probe.released.probe_site_of}
        run(functools.partial(exec, code, space))
        assert seen == [0, 0], seen

        # written by torch.fx, frozen
        for name, expected in (("<eval_with_key>.3", of_torch), ("<frozen importlib._bootstrap>", of_python),
                               (os.path.dirname(os.__file__) + "/site-packages/mine.py", user),
                               (os.path.dirname(torch.__file__) + "/nn/modules/module.py", of_torch),
                               (os.path.dirname(torch.__file__) + "vision/ops.py", user),
                               ("torch/nn.py", user)):
            space = {"stack": probe.stack}
            exec(compile("frames = stack()", name, "exec"), space)
            assert kinds(space["frames"])[0] == expected, (name, space["frames"][0])
        """,
        str(site_packages),
    )


def test_prefixes(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import os, probe
        probe.prefix(os.path.dirname(probe.__file__) + "//")
        def line():
            return probe.site()
        (first, here), (second, there) = line(), line()
        assert first == second == id(line.__code__) and here == there
        one, two = [probe.site(), probe.site()]
        assert one[0] == two[0]
        if __import__("sys").version_info >= (3, 11):
            assert one[1] != two[1]   # two calls on one line
        assert probe.stack()[0].library is False
        """,
    )


def test_sites_of_many_files(interpreter: Interpreter, tmp_path: Path) -> None:
    """More file names than are remembered, each freed and its address used again."""
    interpreter.passes(
        tmp_path,
        """
        import os, sys, probe
        index = probe.released.probe_site_of
        torch = type(sys)("torch")
        torch.__file__ = "/opt/torch/__init__.py"
        sys.modules["torch"] = torch
        for i in range(5000):
            code = compile("found = ask()", "/opt/torch/%d.py" % i if i % 2 else "/home/%d.py" % i, "exec")
            space = {"ask": index}
            exec(code, space)
            assert space["found"] == i % 2, i
        """,
    )


def test_subinterpreters_are_left_alone(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import sys, probe
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        def create():
            if sys.version_info >= (3, 13): return interpreters.create("legacy")
            if sys.version_info >= (3, 10): return interpreters.create(isolated=False)
            return interpreters.create()
        inner = create()
        code = '''if True:
            import sys
            sys.path[:0] = %r
            import probe
            assert probe.kept.probe_available() == 0
            assert probe.stack(probe.kept) == [] and probe.site(probe.kept)[0] is None
        ''' % sys.path
        failed = interpreters.run_string(inner, code)
        assert not failed, failed
        interpreters.destroy(inner)
        assert len(probe.stack()) == 1
        """,
    )


def test_forked_children(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import os, threading, time, warnings, probe
        warnings.simplefilter("ignore")
        for _ in range(3):
            threading.Thread(target=probe.released.probe_forever, daemon=True).start()
        for _ in range(20):
            child = os.fork()
            if not child:
                assert probe.stack()[0].function == "<module>"
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """,
    )


def test_a_fork_that_python_does_not_know_of(interpreter: Interpreter, tmp_path: Path) -> None:
    """The GIL that another thread held over it is never given back in the child."""
    interpreter.passes(
        tmp_path,
        """
        import os, sys, threading, probe
        def busy():
            while True: sum(range(1000))
        assert len(probe.stack()) == 1
        threading.Thread(target=busy, daemon=True).start()
        for _ in range(5):
            frames = probe.released.probe_in_raw_fork(), probe.kept.probe_in_raw_fork()
            assert frames == (0, 1), frames
        """,
    )


def test_references_are_given_back(interpreter: Interpreter, tmp_path: Path) -> None:
    interpreter.passes(
        tmp_path,
        """
        import gc, sys, probe
        reference = probe.ctypes.byref(probe.ctypes.c_int())
        def ask():
            for _ in range(100):
                for library in (probe.released, probe.kept):
                    library.probe_site(reference)
                    library.probe_site_of()
        ask()
        frame = sys._getframe()
        watched = [ask.__code__, ask.__code__.co_filename, ask.__code__.co_name, frame, frame.f_code, sys.modules]
        total = getattr(sys, "gettotalrefcount", lambda: 0)   # in a debug build
        def counts():
            return [sys.getrefcount(one) for one in watched]
        gc.collect(); gc.disable()
        objects = len(gc.get_objects())
        before, everything = counts(), total()
        ask()
        assert counts() == before
        assert abs(total() - everything) < 50, total() - everything
        assert abs(len(gc.get_objects()) - objects) < 10
        """,
    )


def test_under_pytorch(probe: Path, python: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The user's line is the site of a call deep in torch.nn."""
    Interpreter(python, 0, probe, environment).passes(
        tmp_path,
        """
        import torch, probe
        index = probe.released.probe_site_of
        seen = []
        class Hooked(torch.nn.Linear): pass
        model = torch.nn.Sequential(torch.nn.Linear(2, 2))
        model[0].register_forward_hook(lambda *_: seen.extend(probe.stack()))
        def train():
            return model(torch.ones(1, 2))
        train()
        functions = [frame.function for frame in seen]
        assert functions[0] == "<lambda>" and "Sequential.forward" in functions or "forward" in functions, functions
        between = seen[1:functions.index("train")]
        assert between and all(frame.library and not frame.standard for frame in between), between
        assert all("/torch/nn/modules/" in frame.file for frame in between)
        alive = torch.ones(3)
        import weakref
        reference = weakref.ref(alive)
        probe.stack()
        del alive
        assert reference() is None
        """,
    )
