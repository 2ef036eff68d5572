"""Data loaders whose workers make findings.

usage: workers.py CONTEXT      CONTEXT: fork or spawn
"""

import contextlib
import sys

import torch
from torch.utils.data import DataLoader, Dataset

ITEMS, WORKERS = 16, {"fork": 4, "spawn": 2}


class Mixing(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        with contextlib.suppress(NotImplementedError):
            torch.ones(1).copy_(torch.empty(1, device="meta"))
        return torch.full((2,), float(index))


def epoch(loader):
    return [batch.tolist() for batch in loader]


def main(context):
    loader = DataLoader(Mixing(), batch_size=4, num_workers=WORKERS[context], multiprocessing_context=context)
    batches = epoch(loader)
    print(batches)
    if context == "fork":
        persistent = DataLoader(Mixing(), batch_size=4, num_workers=4, persistent_workers=True)
        print(all(epoch(persistent) == batches for _ in range(3)))
    print(sum(sum(row) for batch in batches for row in batch))


if __name__ == "__main__":
    main(sys.argv[1])
