#!/usr/bin/env python3
"""Trains MiniGoogLeNet with PyTorch DistributedDataParallel on the CPU and reports its speed.

The peer of `lockstep bench --model minigooglenet`: the same network, optimizer, loss and batch split, with
PyTorch's own means. People's text goes to stderr; with --json the last line of stdout is one JSON object.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MODEL = "minigooglenet"
# As Keras counts them: weights and biases, BatchNorm's gamma and beta, and its moving mean and variance.
EXPECTED_PARAMS = 1_656_250
CLASSES = 10
LEARNING_RATE = 5e-3
MOMENTUM = 0.9
SEED = 1


class ConvModule(nn.Sequential):
    """Convolution with bias, BatchNorm, ReLU. BatchNorm takes Keras' epsilon and decay, not PyTorch's."""

    def __init__(self, inputs, filters, kernel, stride=1, padding=0):
        super().__init__(
            nn.Conv2d(inputs, filters, kernel, stride=stride, padding=padding),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01),
            nn.ReLU(inplace=True),
        )
        self.filters = filters


class Inception(nn.Module):
    def __init__(self, inputs, filters_1x1, filters_3x3):
        super().__init__()
        self.conv_1x1 = ConvModule(inputs, filters_1x1, 1)
        self.conv_3x3 = ConvModule(inputs, filters_3x3, 3, padding=1)
        self.filters = filters_1x1 + filters_3x3

    def forward(self, x):
        return torch.cat((self.conv_1x1(x), self.conv_3x3(x)), dim=1)


class Downsample(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.conv_3x3 = ConvModule(inputs, filters, 3, stride=2)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.filters = inputs + filters

    def forward(self, x):
        return torch.cat((self.conv_3x3(x), self.pool(x)), dim=1)


class MiniGoogLeNet(nn.Module):
    """The small GoogLeNet of Zhang et al. (2017) for images of 32x32x3."""

    def __init__(self):
        super().__init__()
        layers = [ConvModule(3, 96, 3, padding=1)]
        for block, *filters in (
            (Inception, 32, 32),
            (Inception, 32, 48),
            (Downsample, 80),
            (Inception, 112, 48),
            (Inception, 96, 64),
            (Inception, 80, 80),
            (Inception, 48, 96),
            (Downsample, 96),
            (Inception, 176, 160),
            (Inception, 176, 160),
        ):
            layers.append(block(layers[-1].filters, *filters))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.AvgPool2d(7), nn.Flatten(), nn.Dropout(0.5), nn.Linear(layers[-1].filters, CLASSES)
        )
        for module in self.modules():
            # Keras' default, so that both sides start from losses of the same size.
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x))


def count_params(model):
    """Counts as Keras does: parameters and BatchNorm's moving statistics, but not PyTorch's batch counters."""
    buffers = (buffer for name, buffer in model.named_buffers() if not name.endswith("num_batches_tracked"))
    return sum(p.numel() for p in model.parameters()) + sum(b.numel() for b in buffers)


def percentile(values, fraction):
    values = sorted(values)
    position = fraction * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def train(rank, args, threads, port, results):
    """Runs one replica; replica 0 puts the report into `results`."""
    torch.set_num_threads(threads)
    group = args.processes > 1
    if group:
        store = dist.TCPStore("127.0.0.1", port, is_master=False)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=args.processes)

    # The same seed everywhere: the replicas start equal, and the global batch does not depend on their number.
    torch.manual_seed(SEED)
    memory_format = torch.channels_last if args.channels_last else torch.contiguous_format
    model = MiniGoogLeNet().to(memory_format=memory_format)
    params = count_params(model)
    assert params == EXPECTED_PARAMS, f"MiniGoogLeNet has {params} parameters, not {EXPECTED_PARAMS}"
    shard = args.batch_size // args.processes
    images = torch.randn(args.batch_size, 3, 32, 32)[rank * shard:(rank + 1) * shard]
    images = images.contiguous(memory_format=memory_format)
    labels = torch.randint(CLASSES, (args.batch_size,))[rank * shard:(rank + 1) * shard].contiguous()
    # From here on the replicas must differ, or all would drop the same units.
    torch.manual_seed(SEED + 1 + rank)

    if args.compile:
        model.compile()
    replica = model
    if group:
        # Moving statistics stay local to a replica, as under MirroredStrategy, so nothing is broadcast per step.
        replica = DistributedDataParallel(
            model, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True
        )
    optimizer = torch.optim.SGD(replica.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM, fused=True)
    loss_of = nn.CrossEntropyLoss()

    def precision():
        if args.precision == "bfloat16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    losses = []
    times = []
    begin = time.perf_counter()
    for step in range(args.warmup + args.steps):
        optimizer.zero_grad(set_to_none=True)
        with precision():
            loss = loss_of(replica(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        end = time.perf_counter()
        if step >= args.warmup:
            times.append((end - begin) * 1e3)
        begin = end

    ends = torch.tensor([losses[0], losses[-1]], dtype=torch.float64)
    if group:
        dist.all_reduce(ends)
        ends /= args.processes
        dist.destroy_process_group()
    if rank == 0:
        median = statistics.median(times)
        results.put({
            "peer": "pytorch-ddp",
            "version": torch.__version__,
            "model": MODEL,
            "replicas": args.processes,
            "global_batch": args.batch_size,
            "precision": args.precision,
            "examples_per_s": args.batch_size / median * 1e3,
            "step_ms": {"median": median, "p10": percentile(times, 0.1), "p90": percentile(times, 0.9)},
            "params": params,
            "loss_first": ends[0].item(),
            "loss_last": ends[1].item(),
            "steps": args.steps,
            "warmup": args.warmup,
            "threads_per_replica": threads,
            "channels_last": args.channels_last,
            "compile": args.compile,
        })


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="replicas, one process each (default 2)")
    parser.add_argument("--batch-size", type=int, default=128, help="global batch, split evenly (default 128)")
    parser.add_argument("--steps", type=int, default=30, help="measured steps (default 30)")
    parser.add_argument("--warmup", type=int, default=5, help="steps before measuring (default 5)")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32",
                        help="bfloat16 means autocast (default float32)")
    parser.add_argument("--channels-last", action=argparse.BooleanOptionalAction, default=True,
                        help="NHWC storage of images and weights")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=False,
                        help="torch.compile the model; needs a C++ compiler")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    args = parser.parse_args()
    if args.processes < 1 or args.steps < 1 or args.warmup < 0:
        parser.error("--processes and --steps must be at least 1, --warmup at least 0")
    if args.batch_size < 1 or args.batch_size % args.processes:
        parser.error("--batch-size must be a positive multiple of --processes")
    return args


def main():
    args = parse_args()
    threads = max(1, len(os.sched_getaffinity(0)) // args.processes)
    # All replicas are on this machine; without this Gloo would resolve the host name, which need not work.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    print(f"pytorch {torch.__version__}: {MODEL}, {args.processes} process(es) of {threads} thread(s), "
          f"global batch {args.batch_size}, {args.precision}", file=sys.stderr)
    # The parent holds the store: port 0 lets the system pick a free one, with no race to bind it again.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, args=(args, threads, store.port, results), nprocs=args.processes)
    report = results.get()

    step = report["step_ms"]
    print(f"{report['examples_per_s']:.1f} examples/s; step {step['median']:.1f} ms "
          f"(p10 {step['p10']:.1f}, p90 {step['p90']:.1f}); loss {report['loss_first']:.4f} -> "
          f"{report['loss_last']:.4f}; {report['params']} parameters", file=sys.stderr)
    if args.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
