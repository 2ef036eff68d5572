"""Jobs of several processes over the simulated NCCL."""

from __future__ import annotations

from .conftest import HERE, STARTED


def test_ranks_exchange_and_train(simulated) -> None:
    done = simulated("-m", "torch.distributed.run", "--nproc-per-node", "2", HERE / "ranks.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 is done", "rank 1 is done"]
    assert done.stderr.count(STARTED(2)) == 1


DIE = """
import ctypes, os
runtime = ctypes.CDLL("libcuda.so.1")

class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]

meeting, communicator = UniqueId(), ctypes.c_void_p()
assert runtime.ncclGetUniqueId(ctypes.byref(meeting)) == 0
child = os.fork()
assert runtime.ncclCommInitRank(ctypes.byref(communicator), 2, meeting, int(not child)) == 0
if not child:
    os._exit(0)
os.waitpid(child, 0)
memory = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
print(runtime.ncclAllReduce(memory, memory, ctypes.c_size_t(16), 7, 0, communicator, None))
"""


def test_a_rank_whose_peer_has_ended_does_not_wait_for_ever(simulated) -> None:
    done = simulated("-c", DIE)
    assert done.stdout == "6\n", done.stderr  # ncclRemoteError
    assert "device-audit: simulated GPU: ncclAllReduce: another rank has ended\n" in done.stderr
