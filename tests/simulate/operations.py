"""What an unchanged CUDA program does: each case must run on simulated GPUs without an error or a warning."""

from __future__ import annotations

import io

import cases
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


def devices() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 2
    assert [torch.cuda.get_device_name(device) for device in range(2)] == ["Simulated GPU 0", "Simulated GPU 1"]
    properties = torch.cuda.get_device_properties(1)
    assert (properties.major, properties.minor, properties.total_memory) == (9, 0, 80 << 30)
    assert torch.cuda.can_device_access_peer(0, 1)
    torch.cuda.get_arch_list()


def current_device() -> None:
    torch.cuda.set_device(1)
    assert torch.zeros(1, device="cuda").device.index == 1
    torch.cuda.set_device(0)
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
    with torch.device("cuda"):
        assert torch.zeros(1).is_cuda


def factories() -> None:
    for make in (torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty):
        assert make(3, 4, device="cuda:1").device.index == 1
    torch.arange(10, device="cuda")
    torch.full((2,), 3, device="cuda")
    torch.randint(0, 5, (3,), device="cuda")
    torch.randperm(100_000, device="cuda")
    torch.multinomial(torch.ones(5, device="cuda"), 2)


def random_numbers() -> None:
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(1)
    torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    generator = torch.Generator("cuda")
    torch.randn(3, device="cuda", generator=generator.manual_seed(2))


def copies_keep_values() -> None:
    values = torch.randn(50, 60)
    assert torch.equal(values.cuda().cpu(), values)
    assert torch.equal(values.t().cuda().cpu(), values.t())
    assert torch.equal(values.cuda().clone().cpu(), values)
    assert torch.tensor(5).cuda().item() == 5
    assert torch.tensor([1, 2.5], device="cuda").tolist() == [1, 2.5]


def copies_between_devices() -> None:
    values = torch.randn(1000)
    first = values.to("cuda:0")
    second = first.to("cuda:1")
    assert second.device.index == 1
    assert torch.equal(second.cpu(), values)
    second.copy_(first)


def pinned_memory() -> None:
    pinned = torch.randn(4).pin_memory()
    assert pinned.is_pinned()
    assert not torch.randn(4).is_pinned()
    assert torch.equal(pinned.to("cuda", non_blocking=True).cpu(), pinned)
    torch.empty(4, pin_memory=True)


def data_loader() -> None:
    data = TensorDataset(torch.randn(16, 3), torch.arange(16))
    for workers in (0, 2):
        for inputs, labels in DataLoader(data, 4, num_workers=workers, pin_memory=True):
            assert inputs.is_pinned()
            labels.to("cuda", non_blocking=True)


def memory_statistics() -> None:
    held = torch.zeros(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() >= held.nbytes
    free, total = torch.cuda.mem_get_info()
    assert total == 80 << 30
    assert total - free >= held.nbytes
    assert "CUDA memory" in torch.cuda.memory_summary() or "PyTorch CUDA" in torch.cuda.memory_summary()
    torch.cuda.memory_stats()
    torch.cuda.memory_snapshot()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def streams_and_events() -> None:
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        start.record()
        torch.ones(4, device="cuda") + 1
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    stream.wait_stream(torch.cuda.current_stream())
    assert stream.query()
    assert end.query()
    torch.cuda.ExternalStream(stream.cuda_stream).synchronize()


def graphs() -> None:
    inputs = torch.randn(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inputs @ inputs + 1
    graph.replay()


def training() -> None:
    for options in ({}, {"foreach": True}, {"foreach": False}, {"fused": True}):
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Dropout(), nn.Linear(16, 3)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        for _ in range(2):
            inputs, labels = torch.randn(4, 8).cuda(), torch.randint(0, 3, (4,)).cuda()
            loss = F.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            loss.item()


def losses() -> None:
    outputs = torch.randn(4, 8, device="cuda", requires_grad=True)
    targets = torch.randn(4, 8, device="cuda")
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy_with_logits):
        loss(outputs, targets).backward()


def mixed_precision() -> None:
    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda"):
        loss = model(torch.randn(4, 8, device="cuda")).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def data_parallel() -> None:
    model = nn.DataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).cuda())
    model(torch.randn(8, 8, device="cuda")).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def convolutions() -> None:
    for layer, shape in (
        (nn.Conv1d, (2, 3, 16)),
        (nn.Conv2d, (2, 3, 16, 16)),
        (nn.Conv3d, (2, 3, 8, 8, 8)),
        (nn.ConvTranspose2d, (2, 3, 8, 8)),
    ):
        layer(3, 4, 3).cuda()(torch.randn(*shape, device="cuda", requires_grad=True)).sum().backward()
    torch.backends.cudnn.benchmark = True
    model = nn.Conv2d(3, 4, 3).cuda().half().to(memory_format=torch.channels_last)
    inputs = torch.randn(2, 3, 16, 16, device="cuda").half().to(memory_format=torch.channels_last)
    model(inputs).sum().backward()
    torch.backends.cudnn.benchmark = False


def normalisation_and_pooling() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.GroupNorm(1, 3)).cuda()
    model(torch.randn(2, 3, 16, 16, device="cuda")).sum().backward()
    model.eval()(torch.randn(2, 3, 16, 16, device="cuda"))


def recurrent_networks() -> None:
    inputs = torch.randn(5, 3, 8, device="cuda", requires_grad=True)
    for layer in (nn.LSTM, nn.GRU, nn.RNN):
        for options in ({}, {"num_layers": 2, "bidirectional": True, "dropout": 0.5}, {"bias": False}):
            layer(8, 16, **options).cuda()(inputs)[0].sum().backward()
    nn.LSTM(8, 16, proj_size=4).cuda()(inputs)[0].sum().backward()
    packed = nn.utils.rnn.pack_padded_sequence(inputs, [5, 3, 2])
    nn.utils.rnn.pad_packed_sequence(nn.LSTM(8, 16).cuda()(packed)[0])


def weights_of_recurrent_networks_survive_the_move() -> None:
    network = nn.LSTM(8, 16, num_layers=2, bidirectional=True, proj_size=4)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    after = network.cuda().state_dict()
    assert all(torch.equal(after[name].cpu(), value) for name, value in before.items())


def attention() -> None:
    heads = torch.randn(2, 4, 16, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).sum().backward()
    for backend in (
        SDPBackend.MATH,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(heads, heads, heads).sum().backward()
    layer = nn.TransformerEncoderLayer(16, 2, batch_first=True).cuda()
    layer(torch.randn(2, 5, 16, device="cuda")).sum().backward()
    layer.eval()(torch.randn(2, 5, 16, device="cuda"))


def embeddings() -> None:
    nn.Embedding(10, 4).cuda()(torch.tensor([1, 2, 3], device="cuda")).sum().backward()
    nn.EmbeddingBag(10, 4).cuda()(torch.tensor([[1, 2, 3]], device="cuda")).sum().backward()


def indexing() -> None:
    table = torch.randn(10, 4, device="cuda")
    rows = torch.tensor([1, 2], device="cuda")
    zeros = torch.zeros(2, 4, dtype=torch.long, device="cuda")
    table[rows] = 0
    table[torch.tensor([1, 2])]
    table[table > 0] = 1
    table[1, 2] = 3.0
    assert table[rows].shape == (2, 4)
    table.gather(0, zeros)
    table.index_select(0, rows)
    table.scatter_(0, zeros, 1.0)
    table.index_put_((rows,), torch.ones(4, device="cuda"), accumulate=True)
    table.index_add_(0, rows, torch.ones(2, 4, device="cuda"))
    torch.where(table > 0, table, -table)


def results_that_the_host_reads_back() -> None:
    """Memory that PyTorch's allocator gives out again must not pass for a count that a kernel has written."""
    for _ in range(50):
        (torch.randn(1 << 10) * 1e9).cuda()
        numbers = torch.randint(0, 5, (100,)).cuda()
        numbers.nonzero()
        numbers[numbers > 2]
        numbers.masked_select(numbers > 2)
        numbers.unique(return_inverse=True, return_counts=True)
        numbers.unique(dim=0)
        torch.unique_consecutive(numbers)
        torch.bincount(numbers)
        torch.repeat_interleave(numbers)
        torch.linalg.inv(torch.randn(4, 4).cuda())


def sorting() -> None:
    numbers = torch.randint(0, 5, (100,), device="cuda")
    numbers.sort()
    numbers.topk(3)
    numbers.kthvalue(2)
    numbers.mode()
    numbers.float().median()
    numbers.cumsum(0)
    torch.histc(numbers.float())
    torch.searchsorted(torch.arange(5, device="cuda"), numbers)


def linear_algebra() -> None:
    matrix = torch.randn(4, 4, device="cuda")
    for decompose in (torch.linalg.qr, torch.linalg.svd, torch.linalg.eigh, torch.linalg.cholesky, torch.linalg.lu):
        decompose(matrix)
    torch.linalg.solve(matrix, matrix)
    torch.linalg.lstsq(matrix, matrix)
    torch.linalg.ldl_factor(matrix)
    torch.linalg.pinv(matrix)
    torch.linalg.matrix_exp(matrix)
    torch.baddbmm(matrix[None], matrix[None], matrix[None])
    torch.dot(matrix[0], matrix[0])


def fourier_transforms() -> None:
    signal = torch.randn(4, 8, device="cuda")
    torch.fft.rfft2(signal)
    torch.fft.irfft(torch.fft.rfft(signal))
    torch.stft(torch.randn(400, device="cuda"), 64, window=torch.ones(64, device="cuda"), return_complex=True)


def sparse_matrices() -> None:
    matrix = torch.eye(4).to_sparse().cuda()
    matrix @ torch.randn(4, 4, device="cuda")
    matrix.coalesce().to_dense()


def kernels_compiled_at_run_time() -> None:
    torch.randn(4, device="cuda", dtype=torch.complex64).prod()
    numbers = torch.rand(4, device="cuda")
    torch.special.bessel_j0(numbers)
    torch.special.zeta(numbers + 2, 2.0)
    torch.special.airy_ai(numbers)


def checkpointing() -> None:
    inputs = torch.randn(2, 4, device="cuda", requires_grad=True)
    checkpoint(nn.Linear(4, 4).cuda(), inputs, use_reentrant=False).sum().backward()


def printing() -> None:
    assert "device='cuda:1'" in repr(torch.randn(3, device="cuda:1"))
    assert "Linear" in repr(nn.Linear(2, 2).cuda())


def saving_and_loading() -> None:
    file = io.BytesIO()
    torch.save({"weight": torch.arange(4.0).to("cuda:1")}, file)
    file.seek(0)
    loaded = torch.load(file)["weight"]
    assert loaded.device.index == 1
    assert loaded.tolist() == [0, 1, 2, 3]
    file.seek(0)
    assert torch.load(file, map_location="cpu")["weight"].device.type == "cpu"


if __name__ == "__main__":
    cases.run(globals())
