"""What a finding must leave alone in a Python program: its objects, locals, errors, collector and hooks.

Each check makes a finding and prints what the program can see of it.
"""

import contextlib
import gc
import sys
import threading
import weakref

import torch

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")


def copy_out_of_meta():
    meta.cpu()


def attempt():
    """A finding whose error is handled."""
    try:
        copy_out_of_meta()
    except NotImplementedError as error:
        return str(error)
    return None


def deleted_tensor():
    big = torch.ones(1000)
    gone = weakref.ref(big)
    torch.mm(cpu, meta)
    del big
    return gone() is None


def tensors_of_a_raising_frame():
    """What an error's frames held is freed with the error."""
    gone = []

    def work():
        big = torch.ones(1000)
        gone.append(weakref.ref(big))
        meta.cpu()
        return big

    with contextlib.suppress(NotImplementedError):
        work()
    return gone[0]() is None


def edited_locals():
    value = "before"
    held = locals()
    held["value"] = "edited"
    held["added"] = 1
    torch.mm(cpu, meta)
    attempt()
    return held["value"], held["added"], value


class Body:
    """A class body is a frame whose locals are a dict."""

    value = "before"
    locals()["added"] = "edited"
    torch.mm(cpu, meta)
    with contextlib.suppress(NotImplementedError):
        meta.cpu()


def collector():
    states = []
    for enable in (gc.enable, gc.disable):
        enable()
        before = gc.get_count()[1:], gc.get_threshold()
        torch.mm(cpu, meta)
        attempt()
        states.append((gc.isenabled(), before == (gc.get_count()[1:], gc.get_threshold())))
    gc.enable()
    return states


def pending_error():
    """The error that is being handled, and the context of one that is raised after a finding."""
    try:
        raise KeyError("first")
    except KeyError as first:
        torch.mm(cpu, meta)
        attempt()
        handled = sys.exc_info()[1] is first
        try:
            raise ValueError("second")
        except ValueError as second:
            return handled, second.__context__ is first, first.__context__, second.__cause__


def error_of_a_finding():
    try:
        copy_out_of_meta()
    except NotImplementedError as error:
        frames, trace = [], error.__traceback__
        while trace:
            frames.append((trace.tb_frame.f_code.co_name, trace.tb_lineno - trace.tb_frame.f_code.co_firstlineno))
            trace = trace.tb_next
        return type(error).__name__, str(error), frames, error.__context__, getattr(error, "__notes__", None)
    return None


def generator():
    """A frame that is suspended and goes on."""

    def numbers():
        for number in range(3):
            torch.mm(cpu, meta)
            try:
                yield number
            finally:
                torch.mm(cpu, meta)

    running = numbers()
    taken = next(running), next(running)
    running.close()
    return taken, sys.getrefcount(running)


def hooks():
    return (
        sys.excepthook is sys.__excepthook__,
        threading.excepthook is threading.__excepthook__,
        sys.unraisablehook is sys.__unraisablehook__,
        sys.getprofile(),
        sys.gettrace(),
        sys.getrecursionlimit(),
        len(gc.callbacks),
    )


def reference_counts():
    first, second = torch.ones(2, 2), torch.empty(2, 2, device="meta")
    before = sys.getrefcount(first), sys.getrefcount(second)
    torch.mm(first, second)
    attempt()
    return before == (sys.getrefcount(first), sys.getrefcount(second))


def recursion():
    """A finding at the bottom of a stack that is nearly full."""

    def down(depth):
        if depth:
            return down(depth - 1)
        torch.mm(cpu, meta)
        return attempt()

    return down(sys.getrecursionlimit() - 60)


def main():
    for check in (
        deleted_tensor,
        tensors_of_a_raising_frame,
        edited_locals,
        collector,
        pending_error,
        error_of_a_finding,
        generator,
        hooks,
        reference_counts,
        recursion,
    ):
        print(check.__name__, check())
    print("class body", Body.value, Body.added)
    print("modules", [name for name in sys.modules if "device_audit" in name])


main()
