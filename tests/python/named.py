"""The probe's names, as seen from the program that asks. This folder counts as torch's: its frames have no names."""

from __future__ import annotations

import os
from typing import NamedTuple

import probe

probe.prefix(os.path.dirname(os.path.abspath(__file__)))
for _library in (probe.released, probe.kept):
    _library.probe_names.restype = probe.ctypes.c_void_p
    _library.probe_names_cost.restype = probe.ctypes.c_double
    _library.probe_names_cost.argtypes = [probe.ctypes.c_void_p, probe.ctypes.c_int]
    _library.probe_storage.argtypes = [probe.ctypes.c_void_p, probe.ctypes.c_void_p]


class Named(NamedTuple):
    """What hook/python says of one tensor."""

    name: str
    frame: int  # 0: the caller's
    path: str
    is_: set[str]  # of: object, parameter, buffer, attribute


class Answer(NamedTuple):
    """What hook/python says of a question."""

    tensors: list[Named]
    module: tuple[str, str] | None  # path and class


def storage(tensor: object) -> int:
    """Identity of a tensor's storage."""
    return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else 0


def register(*tensors: object) -> None:
    """Makes the storages of tensors known to the probe."""
    for tensor in tensors:
        probe.released.probe_storage(id(tensor), storage(tensor))


def ask(*tensors: object, objects: bool = True) -> Answer:
    """By identity and storage, or by storage alone."""
    addresses = probe.ctypes.c_void_p * max(len(tensors), 1)
    ids = addresses(*map(id, tensors))
    address = probe.released.probe_names(ids if objects else None, addresses(*map(storage, tensors)), len(tensors))
    text = probe.ctypes.string_at(address).decode("utf-8", "surrogateescape")
    probe.released.probe_free(probe.ctypes.c_void_p(address))
    records, module = text.split("\x1d")
    found = []
    for record in records.split("\x1e")[:-1]:
        name, frame, path, flags = record.split("\x1f")
        found.append(Named(name, int(frame) - 1 if name else -1, path, set(flags.split())))
    return Answer(found, tuple(module.split("\x1f")) if module else None)


def name(tensor: object) -> str:
    """The name alone."""
    return ask(tensor).tensors[0].name
