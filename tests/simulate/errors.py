"""What PyTorch says about device mistakes: each case raises its own error, the text of which its docstring holds."""

from __future__ import annotations

import cases
import torch
import torch.nn.functional as F
from torch import nn

host = torch.randn(4, 4)
first = host.to("cuda:0")
second = host.to("cuda:1")


def input_on_the_host() -> None:
    """RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cpu, different from other
    tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)"""
    nn.Linear(4, 4).cuda()(host)


def device_and_host() -> None:
    """RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"""
    first + host


def two_devices() -> None:
    """RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and
    cuda:1!"""
    first + second


def target_on_the_host() -> None:
    """RuntimeError: Expected all tensors to be on the same device, but got target is on cpu, different from other
    tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)"""
    F.cross_entropy(first, torch.zeros(4, dtype=torch.long))


def concatenation() -> None:
    """RuntimeError: Expected all tensors to be on the same device, but got tensors is on cpu, different from other
    tensors on cuda:0 (when checking argument in method wrapper_CUDA_cat)"""
    torch.cat([first, host])


def index_on_the_device() -> None:
    """RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"""
    host[torch.tensor([0]).cuda()]


def mask_on_the_host() -> None:
    """RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on cuda:0"""
    first.masked_fill(host > 0, 1)


def generator_of_the_host() -> None:
    """RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'"""
    torch.randn(3, device="cuda", generator=torch.Generator())


def convolution_weight_on_the_host() -> None:
    """RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same"""
    nn.Conv2d(3, 3, 1)(torch.randn(1, 3, 4, 4).cuda())


def recurrent_input_on_the_host() -> None:
    """RuntimeError: Input and parameter tensors are not at the same device, found input tensor at cpu and parameter
    tensor at cuda:0"""
    nn.LSTM(4, 4).cuda()(host[None])


def data_parallel_on_another_device() -> None:
    """RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them
    on device: cuda:1"""
    nn.DataParallel(nn.Linear(4, 4).to("cuda:1"), device_ids=[0, 1])(first)


def numpy_of_a_device_tensor() -> None:
    """TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory
    first."""
    first.numpy()


def device_that_is_not_there() -> None:
    """AcceleratorError: CUDA error: invalid device ordinal"""
    torch.zeros(1, device="cuda:7")


def too_much_memory() -> None:
    """OutOfMemoryError: CUDA out of memory. Tried to allocate 1024.00 GiB. GPU 0 has a total capacity of 80.00 GiB"""
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")


def waiting_in_a_capture() -> None:
    """AcceleratorError: CUDA error: operation failed due to a previous error during capture"""
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        first.sum().item()


if __name__ == "__main__":
    cases.run(globals())
