"""Compares rows of kernels_bench with PyTorch's ops: processor time on one thread, in alternating rounds.

usage: $(bench/peers/make_environment pytorch) bench/kernels/pytorch_ops.py [--rounds N] [--json FILE] [NAME ...]
"""

import argparse
import json
import os
import pathlib
import re
import sys
import time
from statistics import median

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import reports  # noqa: E402

SECONDS = 0.3  # of each measurement, of which the fastest of three counts
LIMIT_S = 600  # of each run of kernels_bench
BENCH = reports.ROOT / "build" / "release" / "bench" / "kernels" / "kernels_bench"


def images(*shape):
    n, height, width, channels = shape
    return torch.rand(n, channels, height, width).contiguous(memory_format=torch.channels_last)


def indices_below(most, count):
    return torch.arange(count) * 7919 % most


def ops():
    """For each name of a row op/NAME (ops.cpp), the op and its operands: the data, then the parameters."""
    gathered, scattered = indices_below(50_000, 4096), indices_below(3000, 4096)
    return {
        "resize_bilinear": (lambda x: F.interpolate(x, (112, 112), mode="bilinear"), images(8, 56, 56, 64)),
        "resize_bicubic_antialiased": (
            lambda x: F.interpolate(x, (96, 96), mode="bicubic", antialias=True), images(16, 224, 224, 3)
        ),
        "conv1d": (
            lambda x, kernel: F.conv1d(x, kernel, padding="same"), torch.rand(16, 64, 512), torch.rand(128, 64, 5)
        ),
        "conv1d_transpose": (
            lambda x, kernel: F.conv_transpose1d(x, kernel, stride=2, padding=1),
            torch.rand(16, 128, 256), torch.rand(128, 64, 4),
        ),
        "conv2d_transpose": (
            lambda x, kernel: F.conv_transpose2d(x, kernel, stride=2, padding=1),
            images(8, 16, 16, 128), images(128, 4, 4, 64),
        ),
        "conv2d_transpose_without_stride": (
            lambda x, kernel: F.conv_transpose2d(x, kernel, padding=1), images(8, 16, 16, 128), images(128, 3, 3, 64)
        ),
        "group_normalization": (
            lambda x, gamma, beta: F.group_norm(x, 32, gamma, beta),
            images(8, 32, 32, 128), torch.ones(128), torch.zeros(128),
        ),
        "matmul": (torch.matmul, torch.rand(64, 128, 64), torch.rand(64, 64, 128)),
        "gather": (lambda x: torch.index_select(x, 0, gathered), torch.rand(50_000, 128)),
        "scatter": (lambda x: torch.zeros(3000, 128).index_add(0, scattered, x), torch.rand(4096, 128)),
    }


def op_rows(name, op, *operands):
    for operand in operands:
        operand.requires_grad_(True)

    def forward():
        with torch.no_grad():
            op(*operands)

    return {f"op/{name}/forward": forward,
            f"op/{name}/forward_and_gradient": lambda: torch.autograd.grad(op(*operands).sum(), operands)}


def attention_rows(examples, queries, heads, size, is_causal=False):
    """The rows of attention.cpp. Operands lie in memory as (examples, queries, heads, size), as in lockstep."""
    query, key, value, dy = (torch.rand(examples, queries, heads, size).transpose(1, 2) for _ in range(4))
    operands = [x.requires_grad_(True) for x in (query, key, value)]
    y = F.scaled_dot_product_attention(*operands, is_causal=is_causal)

    def forward():
        with torch.no_grad():
            F.scaled_dot_product_attention(*operands, is_causal=is_causal)

    sizes = f"{examples}x{queries}x{heads}x{size}" + ("_causal" if is_causal else "")
    return {f"attention/forward/{sizes}": forward,
            f"attention/gradient/{sizes}": lambda: torch.autograd.grad(y, operands, dy, retain_graph=True)}


def rows():
    """For each name of a row of kernels_bench, what PyTorch runs."""
    found = attention_rows(8, 128, 8, 64) | attention_rows(4, 512, 8, 64) | attention_rows(1, 2048, 8, 64, True)
    for name, row in ops().items():
        found |= op_rows(name, *row)
    return found


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


def lockstep_milliseconds(bench, names):
    """The fastest of three measurements of each row, as for PyTorch."""
    command = [bench, f"--benchmark_filter=^({'|'.join(map(re.escape, names))})$", f"--benchmark_min_time={SECONDS}",
               "--benchmark_repetitions=3", "--benchmark_format=json"]
    found = {name: float("inf") for name in names}
    for row in json.loads(reports.output_of(command, LIMIT_S))["benchmarks"]:
        if row["run_type"] == "iteration":
            assert row["time_unit"] == "ns"
            found[row["run_name"]] = min(found[row["run_name"]], row["cpu_time"] * 1e-6)
    return found


def parse_args(known):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows of kernels_bench (default: all that PyTorch has)")
    parser.add_argument("--rounds", type=int, default=3, help="alternating runs of each side (default 3)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write all measurements")
    parser.add_argument("--bench", type=pathlib.Path, default=BENCH, metavar="PROGRAM",
                        help="default build/release/bench/kernels/kernels_bench")
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(known))
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(known)}")
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    reports.require_program(parser, args.bench)
    reports.require_writable(parser, {"--json": args.json})
    return args


def main():
    torch.set_num_threads(1)
    known = rows()
    args = parse_args(known)
    names = args.names or list(known)
    rounds = []
    for _ in range(args.rounds):
        load = os.getloadavg()[0]
        rounds.append({"load_1min_before": load, "milliseconds": {
            "lockstep": lockstep_milliseconds(args.bench, names),
            "pytorch": {name: milliseconds(known[name]) for name in names}}})
    for name in names:
        sides = [[entry["milliseconds"][side][name] for entry in rounds] for side in ("lockstep", "pytorch")]
        ratios = [pytorch / lockstep for lockstep, pytorch in zip(*sides)]
        print(f"{name}: lockstep {median(sides[0]):.3f} ms, PyTorch {median(sides[1]):.3f} ms, "
              f"PyTorch / lockstep {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    if args.json:
        reports.write(args.json, {"torch": torch.__version__}, [{"rows": names, "rounds": rounds}])


if __name__ == "__main__":
    main()
