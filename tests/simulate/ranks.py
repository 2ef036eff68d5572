"""One rank of a job over NCCL on simulated GPUs: collectives move and reduce real bytes, and the wrappers train."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

RANK = int(os.environ["RANK"])
SIZE = int(os.environ["WORLD_SIZE"])


def filled(value: float, count: int) -> torch.Tensor:
    return torch.full((count,), float(value)).cuda()


def reductions() -> None:
    numbers = torch.tensor([1.0, RANK]).cuda()
    dist.all_reduce(numbers)
    assert numbers.tolist() == [SIZE, sum(range(SIZE))]
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8):
        numbers = torch.tensor([3, RANK + 1]).to(dtype).cuda()
        dist.all_reduce(numbers, op=dist.ReduceOp.MAX)
        assert numbers.cpu().tolist() == [3, SIZE]
    average = filled(RANK, 2)
    dist.all_reduce(average, op=dist.ReduceOp.AVG)
    assert average.tolist() == [(SIZE - 1) / 2] * 2
    part = torch.empty(2).cuda()
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * SIZE).cuda())
    assert part.tolist() == [2.0 * RANK * SIZE, (2.0 * RANK + 1) * SIZE]


def moves() -> None:
    large = filled(RANK, 3 << 20)  # more than one round
    dist.broadcast(large, 1)
    assert large.cpu().unique().tolist() == [1]
    gathered = [torch.empty(3).cuda() for _ in range(SIZE)]
    dist.all_gather(gathered, filled(RANK, 3))
    assert [part.cpu()[2].item() for part in gathered] == list(range(SIZE))
    received = torch.empty(SIZE).cuda()
    dist.all_to_all_single(received, torch.tensor([RANK * 10.0 + other for other in range(SIZE)]).cuda())
    assert received.tolist() == [other * 10.0 + RANK for other in range(SIZE)]


def transfers() -> None:
    """More bytes in both directions at once than are kept on the way."""
    received = torch.empty(1 << 20).cuda()
    following, previous = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    transfers = [
        dist.P2POp(dist.isend, filled(RANK, 1 << 20), following),
        dist.P2POp(dist.irecv, received, previous),
    ]
    for work in dist.batch_isend_irecv(transfers):
        work.wait()
    assert received.cpu().unique().tolist() == [previous]
    dist.barrier()


def groups() -> None:
    pair = dist.new_group([0, 1])
    if RANK < 2:
        ones = filled(1, 1)
        dist.all_reduce(ones, group=pair)
        assert ones.item() == 2


def training() -> None:
    plain = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).cuda()
    model = nn.parallel.DistributedDataParallel(plain, device_ids=[RANK])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(4, 8).cuda()).sum().backward()
        optimizer.step()
    sharded = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).cuda()
    fully_shard(sharded)
    sharded(torch.randn(2, 8).cuda()).sum().backward()


def main() -> None:
    torch.cuda.set_device(RANK)
    dist.init_process_group("nccl")
    for case in (reductions, moves, transfers, groups, training):
        case()
    dist.destroy_process_group()
    print(f"rank {RANK} is done\n", end="", flush=True)


if __name__ == "__main__":
    main()
