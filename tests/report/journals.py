"""Journals as the preloaded core writes them (docs/journal.md), for tests that need no program."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

START = 1_796_140_800_000_000_000  # 2026-12-01T16:00:00Z
MAGIC = 0x31544E554F434144
FIRST_SLOT = 8


def line(seq: int, record_type: str, **members: Any) -> str:
    """One line of a journal, with its checksum."""
    record = json.dumps({"seq": seq, "type": record_type, **members}, separators=(",", ":"))[1:]
    return f'{{"crc":"{zlib.crc32(record.encode()):08x}",{record}\n'


def place(file: str, number: int, function: str = "<module>", code: str | None = None) -> dict[str, Any]:
    return {"file": file, "line": number, "function": function, "code": code}


def operand(argument: str, device: str, **members: Any) -> dict[str, Any]:
    standard = {
        "position": 0,
        "shape": [2, 3],
        "dtype": "torch.float32",
        "stray": False,
        "name": None,
        "module_path": None,
        "origin": None,
        "moved": None,
    }
    return {"argument": argument, "device": device, **standard, **members}


def finding(number: int, **members: Any) -> dict[str, Any]:
    """The members of a `finding` record: labels that stayed on the CPU, unless told otherwise."""
    standard = {
        "slot": None,
        "verdict": "mismatch",
        "operator": "aten::nll_loss_forward",
        "overload": None,
        "chain": ["aten::cross_entropy_loss", "aten::nll_loss_forward"],
        "operands": [
            operand("self", "cuda:0", name="outputs"),
            operand("target", "cpu", name="labels", shape=[2], dtype="torch.int64", stray=True),
        ],
        "pairs": [{"a": "self", "b": "target"}],
        "devices": ["cuda:0", "cpu"],
        "site": place("/home/user/train.py", 42, "train_step", "loss = criterion(outputs, labels)"),
        "python": [
            place("/home/user/train.py", 42, "train_step", "loss = criterion(outputs, labels)") | {"library": False}
        ],
        "native": [],
        "libraries": [],
        "module": None,
        "phase": "forward",
        "cause": None,
        "alternatives": [],
        "explanation": None,
        "fix": None,
        "legal_because": None,
        "error": "Expected all tensors to be on the same device",
        "error_type": "c10::Error",
        "thread": 100,
        "first_seen": START + number,
    }
    return {"id": number, **standard, **members}


class Journal:
    """The files of one process, written as it goes."""

    def __init__(self, directory: Path, pid: int, name: str | None = None, **members: Any) -> None:
        self.path = directory / f"{name or pid}.jsonl"
        self.counters: list[tuple[int, int, int, int]] = []
        self.seq = 0
        standard = {
            "journal": 1,
            "version": "0.1.0",
            "parent": 1,
            "forked": False,
            "rank": None,
            "world_size": None,
            "command": ["python", "train.py"],
            "started": START,
            "host": "here",
            "executable": "/usr/bin/python3",
            "mode": "full",
            "simulated": 0,
            "settings": {},
        }
        self.write("process", pid=pid, **standard | members)

    def write(self, record_type: str, **members: Any) -> Journal:
        with self.path.open("a") as file:
            file.write(line(self.seq, record_type, **members))
        self.seq += 1
        return self

    def runtime(self, **members: Any) -> Journal:
        standard = {
            "torch": "2.15.0",
            "torch_path": "/t/libtorch_cpu.so",
            "adapter": "/l/libdevice_audit_torch.so",
            "adapter_why": None,
            "python": "3.11.7",
            "cuda": "13.2",
        }
        return self.write("runtime", **standard | members)

    def found(self, number: int, counters: tuple[int, int, int, int] | None = None, **members: Any) -> Journal:
        """A finding, with its (count, last seen, bytes, duration) in the counts file."""
        slot = None
        if counters:
            slot = FIRST_SLOT + 4 * len(self.counters)
            self.counters.append(counters)
            slots = [MAGIC, FIRST_SLOT + 4 * len(self.counters), 1000, 2_000_000, 0, 0, 0, 0]
            slots += [value for four in self.counters for value in four]
            self.path.with_suffix(".counts").write_bytes(struct.pack(f"<{len(slots)}Q", *slots))
        return self.write("finding", **finding(number, slot=slot, **members))

    def end(self, code: int = 0) -> Journal:
        return self.write("end", how="exit", code=code, ended=START + 5_000_000_000)
