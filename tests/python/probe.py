"""The probe library as seen from the Python under test (3.9 and later, standard library only)."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

PATH = os.environ["PROBE"]
released = ctypes.CDLL(PATH)  # the GIL is given back during a call
kept = ctypes.PyDLL(PATH)  # the GIL is kept
for _library in (released, kept):
    _library.probe_stack.restype = ctypes.c_void_p
    _library.probe_stack.argtypes = [ctypes.c_size_t]
    _library.probe_free.argtypes = [ctypes.c_void_p]
    _library.probe_site.restype = ctypes.c_void_p
    _library.probe_version.restype = ctypes.c_char_p
    _library.probe_cost.restype = ctypes.c_double


class Frame(NamedTuple):
    """One frame as hook/python describes it."""

    file: str
    line: int
    function: str
    code: str
    library: bool
    standard: bool


def frames_of(text: bytes) -> list[Frame]:
    """From the probe's text."""
    frames = []
    for record in text.decode("utf-8", "surrogateescape").split("\x1e")[:-1]:
        file, line, function, code, library, standard = record.split("\x1f")
        frames.append(Frame(file, int(line), function, code, library == "1", standard == "1"))
    return frames


def stack(library: ctypes.CDLL = released, limit: int = 64) -> list[Frame]:
    """The frames above this one, innermost first."""
    address = library.probe_stack(limit + 1)
    text = ctypes.string_at(address)
    library.probe_free(address)
    return frames_of(text)[1:]


def site(library: ctypes.CDLL = released) -> tuple[int | None, int]:
    """Code object's address (None: no frame) and instruction. This file must be a library's, see `prefix`."""
    instruction = ctypes.c_int()
    code = library.probe_site(ctypes.byref(instruction))
    return code, instruction.value


def prefix(folder: str) -> None:
    """Makes the files of a folder count as torch's."""
    released.probe_prefix(folder.encode())
