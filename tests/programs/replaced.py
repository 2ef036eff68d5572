"""Makes a finding and has itself replaced by a new run of itself, which has its process id and does the same.

usage: replaced.py RUNS
"""

import os
import sys

import torch

torch.mm(torch.ones(2, 2), torch.empty(2, 2, device="meta"))
print("run", sys.argv[1], flush=True)
left = int(sys.argv[1]) - 1
if left:
    os.execv(sys.executable, [sys.executable, __file__, str(left)])
os._exit(8)
