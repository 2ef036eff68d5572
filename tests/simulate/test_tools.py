"""What PyTorch brings along beside its operators: the compiler and the profiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

COMPILE = """
import torch
from torch import nn

model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).cuda())
print(model(torch.randn(4, 8).cuda()).shape)
try:
    model(torch.randn(4, 8))
except Exception as error:
    print(type(error).__name__, "found at least two devices, cpu and cuda:0" in str(error))
"""


@pytest.mark.skipif(not shutil.which("cc") and not shutil.which("gcc"), reason="Triton needs a C compiler")
def test_compiled_models_run(simulated, library: Path, tmp_path: Path) -> None:
    done = simulated(
        "-c",
        COMPILE,
        TRITON_LIBCUDA_PATH=str(library.parent / "simulated"),
        TRITON_CACHE_DIR=str(tmp_path / "triton"),
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"),
        TORCHINDUCTOR_COMPILE_THREADS="1",
    )
    assert done.stdout == "torch.Size([4, 8])\nTorchRuntimeError True\n", done.stderr


PROFILE = """
import torch
from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as result:
    matrix = torch.randn(100, 100).cuda()
    matrix @ matrix
names = {event.key for event in result.key_averages()}
print({"aten::randn", "aten::mm"} <= names)
"""


def test_the_profiler_runs_beside_the_simulated_cupti(simulated, library: Path) -> None:
    cupti = library.parent / "libdevice_audit_simulate_cupti.so"
    done = simulated("-c", PROFILE, LD_PRELOAD=f"{library}:{cupti}")
    assert done.stdout.splitlines()[-1] == "True", done.stderr
