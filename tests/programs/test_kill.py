"""A kill at any moment loses nothing of what was said or counted before."""

from __future__ import annotations

import random
import re
import signal

from .conftest import Run

MOMENTS = [random.Random(seed).randrange(0, 120) for seed in range(10)]
# A whole block of a finding: its last line says where the rest is.
SAID = re.compile(
    r"^device-audit: mismatch in (\S+).*\n  at \S+:(\d+) in .*\n(?:  .*\n)*?.* frames are in the report\n",
    re.MULTILINE,
)


def test_killed_at_any_moment(same: Run, script, tmp_path) -> None:
    outcome = same(*script("killed.py", *MOMENTS))
    assert (outcome.code, outcome.stdout) == (-signal.SIGKILL, "the children are dead\n")
    assert len(outcome.journals) == len(MOMENTS) + 1
    folder = tmp_path / "audited"
    places = set()
    for journal in outcome.journals:
        pid = journal.process["pid"]
        said = SAID.findall((folder / f"stderr-{pid}").read_text(encoding="utf-8"))
        kept = [(each["operator"], str(each["site"]["line"])) for each in journal.findings]
        # The record comes before the word: what was said is kept, in the same order.
        assert said
        assert kept[: len(said)] == said
        assert len(kept) - len(said) in (0, 1)
        assert journal.ends == []
        calls = int((folder / f"calls-{pid}").read_text(encoding="utf-8") or 0)
        old = [journal.count(each) for each in journal.findings if each["site"]["function"] == "old_place"]
        assert (sum(old) - calls) in (0, 1)
        places.add(len(kept))
    assert len(places) > 1
