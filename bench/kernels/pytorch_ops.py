"""Times PyTorch's ops for the rows "op/" of kernels_bench (ops.cpp): processor time in ms, on one thread.

usage: $(bench/peers/make_environment pytorch) bench/kernels/pytorch_ops.py [NAME ...]
"""

import sys
import time

import torch
from torch.nn import functional as F

SECONDS = 1  # of each measurement, of which the fastest of three counts


def images(*shape):
    n, height, width, channels = shape
    return torch.rand(n, channels, height, width).contiguous(memory_format=torch.channels_last)


def indices_below(most, count):
    return torch.arange(count) * 7919 % most


def rows():
    """For each name, the data and the op."""
    kernel_1d, kernel_2d = torch.rand(128, 64, 5), torch.rand(128, 64, 4, 4).contiguous(memory_format=torch.channels_last)
    gamma, beta, matrices = torch.ones(128), torch.zeros(128), torch.rand(64, 64, 128)
    gathered, scattered = indices_below(50_000, 4096), indices_below(3000, 4096)
    return {
        "resize_bilinear": (images(8, 56, 56, 64), lambda x: F.interpolate(x, (112, 112), mode="bilinear")),
        "resize_bicubic_antialiased": (
            images(16, 224, 224, 3), lambda x: F.interpolate(x, (96, 96), mode="bicubic", antialias=True)
        ),
        "conv1d": (torch.rand(16, 64, 512), lambda x: F.conv1d(x, kernel_1d, padding="same")),
        "conv2d_transpose": (images(8, 16, 16, 128), lambda x: F.conv_transpose2d(x, kernel_2d, stride=2, padding=1)),
        "group_normalization": (images(8, 32, 32, 128), lambda x: F.group_norm(x, 32, gamma, beta)),
        "matmul": (torch.rand(64, 128, 64), lambda x: torch.matmul(x, matrices)),
        "gather": (torch.rand(50_000, 128), lambda x: torch.index_select(x, 0, gathered)),
        "scatter": (torch.rand(4096, 128), lambda x: torch.zeros(3000, 128).index_add(0, scattered, x)),
    }


def milliseconds(run):
    run()
    best = float("inf")
    for _ in range(3):
        count, start = 0, time.process_time()
        while time.process_time() - start < SECONDS:
            run()
            count += 1
        best = min(best, (time.process_time() - start) / count)
    return best * 1000


def main(names):
    torch.set_num_threads(1)
    for name, (x, op) in rows().items():
        if names and name not in names:
            continue
        x.requires_grad_(True)
        with torch.no_grad():
            forward = milliseconds(lambda: op(x))
        both = milliseconds(lambda: torch.autograd.grad(op(x).sum(), x))
        print(f"op/{name}/forward {forward:.3f} ms, op/{name}/forward_and_gradient {both:.3f} ms", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
