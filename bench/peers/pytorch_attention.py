#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention in bfloat16 on a GPU, with each of its fused backends.

The peer of the check attention_speed of tools/gpu_kit/smoke, at the same sizes. Prints one JSON object: milliseconds of
the forward pass and of the gradient."""

import argparse
import json
import math

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
# Batch, time, heads, heads of keys and values; all heads have 64 numbers.
SIZES = {"ViT-B": (64, 197, 12, 12, False), "GPT": (8, 1024, 12, 12, True), "groups": (8, 1024, 32, 8, True)}


def median_ms(call, calls):
    times = []
    for _ in range(calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def times_of(batch, time, heads, key_heads, is_causal, calls):
    """Operands lie in memory as (batch, time, heads, size), as in lockstep."""
    query, key, value, dy = (torch.rand(batch, time, count, 64, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
                             for count in (heads, key_heads, key_heads, heads))
    operands = [x.requires_grad_() for x in (query, key, value)]

    def forward():
        return scaled_dot_product_attention(*operands, is_causal=is_causal, scale=1 / math.sqrt(64), enable_gqa=heads != key_heads)

    y = forward()
    return {"forward_ms": median_ms(forward, calls),
            "gradient_ms": median_ms(lambda: torch.autograd.grad(y, operands, dy, retain_graph=True), calls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20, help="timed calls, after a first one (default 20)")
    args = parser.parse_args()
    report = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    for name, backend in BACKENDS.items():
        for size, options in SIZES.items():
            try:
                with sdpa_kernel(backend):
                    times_of(*options, 1)
                    report[f"{size}, {name}"] = times_of(*options, args.calls)
            except RuntimeError as error:  # the backend does not take these operands
                report[f"{size}, {name}"] = str(error).splitlines()[0]
    print(json.dumps(report))


if __name__ == "__main__":
    main()
