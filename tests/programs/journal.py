"""A strict reader of journals (docs/journal.md): a damaged line, a gap or a torn end is an error here."""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

LINE = re.compile(rb'\{"crc":"([0-9a-f]{8})",("seq":(\d+),.*\})\n')
MAGIC = 0x31544E554F434144


@dataclass(frozen=True)
class Journal:
    """One process's pair of files."""

    path: Path

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        lines = self.path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            whole = LINE.fullmatch(line)
            assert whole, (self.path, number, line[:200], line[-200:])
            crc, checked, sequence = whole.groups()
            assert int(crc, 16) == zlib.crc32(checked), (self.path, number)
            assert int(sequence) == number, (self.path, number)
        return [json.loads(line) for line in lines]

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The 64-bit slots of the counts file."""
        data = self.path.with_suffix(".counts").read_bytes()
        slots = struct.unpack(f"<{len(data) // 8}Q", data)
        assert slots[:2] == (MAGIC, len(slots))
        return slots

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["type"] == kind]

    @property
    def process(self) -> dict[str, Any]:
        first = self.records[0]
        assert first["type"] == "process"
        return first

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.of_type("finding")

    def finding(self, verdict: str | None = None) -> dict[str, Any]:
        """The only one, of a verdict or at all."""
        (only,) = (each for each in self.findings if verdict in (None, each["verdict"]))
        return only

    def count(self, finding: dict[str, Any]) -> int:
        """How often it was seen."""
        return self.counts[finding["slot"]]

    @property
    def summary(self) -> list[tuple[str, str, int]]:
        """Verdict, operator and count of each finding."""
        return [(each["verdict"], each["operator"], self.count(each)) for each in self.findings]

    @property
    def ends(self) -> list[tuple[str, int]]:
        return [(record["how"], record["code"]) for record in self.of_type("end")]


def read_journals(directory: Path) -> list[Journal]:
    """All in a run's directory, by name."""
    return [Journal(path) for path in sorted(directory.glob("*.jsonl"))]
