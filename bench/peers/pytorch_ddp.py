#!/usr/bin/env python3
"""Trains a model with PyTorch DistributedDataParallel on the CPU and reports its speed.

The peer of `lockstep bench`: the same network, optimizer, loss and batch split, with PyTorch's own means. It starts
its processes on this machine; with --rank it is one of those that somebody else starts, on several machines say.
People's text goes to stderr; with --json the last line of stdout is one JSON object.
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
from torch.nn.parallel import DistributedDataParallel

from pytorch_models import WORKLOADS, count_params

SEED = 1


def percentile(values, fraction):
    values = sorted(values)
    position = fraction * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def train(rank, args, threads, master, results):
    """Runs one replica, which finds the others at the store `master`; replica 0 puts the report into `results`."""
    torch.set_num_threads(threads)
    workload = WORKLOADS[args.model]
    group = args.processes > 1
    if group:
        store = dist.TCPStore(*master, is_master=False)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=args.processes)

    # The same seed everywhere: the replicas start equal, and the global batch does not depend on their number.
    torch.manual_seed(SEED)
    memory_format = torch.channels_last if args.channels_last else torch.contiguous_format
    model = workload.make_model().to(memory_format=memory_format)
    params = count_params(model)
    assert params == workload.params, f"{args.model} has {params} parameters, not {workload.params}"
    shard = args.batch_size // args.processes
    inputs, labels = (part[rank * shard:(rank + 1) * shard] for part in workload.examples(args.batch_size))
    inputs = inputs.contiguous(memory_format=memory_format if inputs.dim() == 4 else torch.contiguous_format)
    labels = labels.contiguous()
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
    optimizer = workload.make_optimizer(replica.parameters())
    loss_of = workload.loss()

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
            loss = loss_of(replica(inputs), labels)
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
            "model": args.model,
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
    parser.add_argument("--model", choices=WORKLOADS, default="minigooglenet", help="default minigooglenet")
    parser.add_argument("--processes", type=int, default=2, help="replicas, one process each (default 2)")
    parser.add_argument("--rank", type=int, help="be this one of the processes, with all cores of this process, and "
                                                 "start no others")
    parser.add_argument("--master", default="127.0.0.1:0", metavar="ADDRESS:PORT",
                        help="where process 0 is to be found, with --rank")
    parser.add_argument("--interface", default="lo", help="of the network, for Gloo (default lo)")
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
    if args.rank is not None and not 0 <= args.rank < args.processes:
        parser.error("--rank must be at least 0 and less than --processes")
    if args.batch_size < 1 or args.batch_size % args.processes:
        parser.error("--batch-size must be a positive multiple of --processes")
    return args


def say_and_print(report, as_json):
    step = report["step_ms"]
    print(f"{report['examples_per_s']:.1f} examples/s; step {step['median']:.1f} ms "
          f"(p10 {step['p10']:.1f}, p90 {step['p90']:.1f}); loss {report['loss_first']:.4f} -> "
          f"{report['loss_last']:.4f}; {report['params']} parameters", file=sys.stderr)
    if as_json:
        print(json.dumps(report))


def main():
    args = parse_args()
    alone = args.rank is not None
    threads = max(1, len(os.sched_getaffinity(0)) // (1 if alone else args.processes))
    # Else Gloo would resolve the host name, which need not work.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", args.interface)
    if not args.rank:
        print(f"pytorch {torch.__version__}: {args.model}, {args.processes} process(es) of {threads} thread(s), "
              f"global batch {args.batch_size}, {args.precision}", file=sys.stderr)
    host, _, port = args.master.rpartition(":")
    store = None
    if not args.rank:
        # Port 0 lets the system pick a free one, with no race to bind it again.
        store = dist.TCPStore(host, int(port), is_master=True, wait_for_workers=False)
    results = mp.get_context("spawn").SimpleQueue()
    if alone:
        train(args.rank, args, threads, (host, int(port)), results)
    else:
        mp.spawn(train, args=(args, threads, (host, store.port), results), nprocs=args.processes)
    if store:
        say_and_print(results.get(), args.json)


if __name__ == "__main__":
    main()
