"""Cells as of a notebook: compiled, run once, and freed."""

import contextlib

import torch

cpu = torch.ones(2, 2)
meta = torch.empty(2, 2, device="meta")
CELLS = 100

for number in range(CELLS):
    with contextlib.suppress(NotImplementedError):
        exec(compile("\n" * (number % 3) + "cpu.copy_(meta)", f"cell-{number}", "exec"), globals())
print(CELLS, "cells")
