"""Python programs: what a program can see of its objects stays, and each of PyTorch's ways to run operators works."""

from __future__ import annotations

from collections import Counter

from .conftest import Run

LOCALS = """\
deleted_tensor True
tensors_of_a_raising_frame True
edited_locals ('edited', 1, 'before')
collector [(True, True), (False, True)]
pending_error (True, True, None, None)
error_of_a_finding ('NotImplementedError', 'Cannot copy out of meta tensor; no data!', \
[('error_of_a_finding', 2), ('copy_out_of_meta', 1)], None, None)
generator ((0, 1), 2)
hooks (True, True, True, None, None, 1000, 0)
reference_counts True
recursion Cannot copy out of meta tensor; no data!
class body before edited
modules []
"""

# A function, and the operator of its finding there. Errors of `attempt` are all at one line.
LOCALS_FINDINGS = Counter(
    {
        ("Body", "aten::mm"): 1,
        ("Body", "aten::copy_"): 1,
        ("deleted_tensor", "aten::mm"): 1,
        ("tensors_of_a_raising_frame.<locals>.work", "aten::copy_"): 1,
        ("edited_locals", "aten::mm"): 1,
        ("collector", "aten::mm"): 2,
        ("pending_error", "aten::mm"): 1,
        ("generator.<locals>.numbers", "aten::mm"): 4,
        ("reference_counts", "aten::mm"): 1,
        ("recursion.<locals>.down", "aten::mm"): 1,
        ("copy_out_of_meta", "aten::copy_"): 7,
    }
)

# The lines with findings of features.py, by the comment at their end, else by their function; once each.
FEATURES = {
    "script",
    "trace",
    "inference mode",
    "vmap",
    "spies",
    "module",
    "mode",
    "profiler",
    "hook",
    "mixed",  # compiled
    "Subclass.__torch_function__",
    "Plain.__torch_function__",
}


def test_objects_locals_errors_and_hooks(same: Run, script) -> None:
    outcome = same(*script("locals.py"))
    assert (outcome.code, outcome.stdout) == (0, LOCALS)
    counts: Counter[tuple[str, str]] = Counter()
    for finding in outcome.journal.findings:
        counts[finding["site"]["function"], finding["operator"]] += outcome.journal.count(finding)
    assert counts == LOCALS_FINDINGS
    assert len({(each["site"]["line"], each["operator"]) for each in outcome.journal.findings}) == len(
        outcome.journal.findings
    )


def test_ways_to_run_operators(same: Run, script) -> None:
    """No user code runs because of a finding, fake tensors are none, and each way finds what the plain one does."""
    outcome = same(*script("features.py"), KINETO_LOG_LEVEL="99")
    assert outcome.code == 0
    assert "spies ['del']\n" in outcome.stdout
    assert "fake_tensors ('cpu', 'cpu', 'cpu', 'meta')\n" in outcome.stdout
    findings = outcome.journal.findings
    sites = [(each["site"]["code"].rpartition("  # ")[::2], each["site"]["function"]) for each in findings]
    assert Counter(comment if code else function for (code, comment), function in sites) == Counter(FEATURES)
    assert {(each["verdict"], each["operator"]) for each in findings} == {("mismatch", "aten::copy_")}
    assert [outcome.journal.count(each) for each in findings] == [1] * len(FEATURES)
    assert all({operand["device"] for operand in each["operands"]} == {"cpu", "meta"} for each in findings)
    backward = {each["phase"] for each in findings if each["site"]["code"].endswith("# hook")}
    assert backward == {"backward"}


def test_errors_through_kernels_in_python(same: Run, script) -> None:
    """The one operator that raised is the finding, however often its error changes between Python and C++."""
    outcome = same(*script("python_kernels.py"))
    assert outcome.stdout == "200 raised\n"
    # Each line is one finding, whichever mode it was in.
    assert outcome.journal.summary == [("mismatch", "aten::copy_", 100), ("mismatch", "aten::add", 100)]
    assert [each["error"] for each in outcome.journal.findings] == [
        "Cannot copy out of meta tensor; no data!",
        "Tensor on device meta is not on the expected device cpu!",
    ]
    assert all(
        [operand["device"] for operand in each["operands"]] == ["cpu", "meta"] for each in outcome.journal.findings
    )


def test_code_that_is_gone(same: Run, script) -> None:
    """Code that is compiled, run and freed, as in a notebook: the next one may lie at the same address."""
    outcome = same(*script("cells.py"))
    assert outcome.stdout == "100 cells\n"
    assert [(each["site"]["file"], each["site"]["line"]) for each in outcome.journal.findings] == [
        (f"cell-{number}", 1 + number % 3) for number in range(100)
    ]
    assert [outcome.journal.count(each) for each in outcome.journal.findings] == [1] * 100
