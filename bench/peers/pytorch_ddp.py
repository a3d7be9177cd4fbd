#!/usr/bin/env python3
"""Trains a model with PyTorch DistributedDataParallel on the CPU and reports its speed.

The peer of `lockstep bench`: the same network, optimizer, loss and batch split, with PyTorch's own means. It starts
its processes on this machine; with --rank it is one of those that somebody else starts, on several machines say.
People's text goes to stderr; with --json the last line of stdout is one JSON object.
"""

import argparse
import contextlib
import gc
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import peer
from pytorch_models import WORKLOADS, count_params


def measure(rank, args, start_s):
    """Trains this replica with the others of the group."""
    workload = WORKLOADS[args.model]
    # The same seed everywhere: the replicas start equal, and the global batch does not depend on their number.
    torch.manual_seed(peer.SEED)
    memory_format = torch.channels_last if args.channels_last else torch.contiguous_format
    model = workload.make_model().to(memory_format=memory_format)
    params = count_params(model)
    assert params == workload.params, f"{args.model} has {params} parameters, not {workload.params}"
    shard = args.batch_size // args.processes
    *inputs, labels = (part[rank * shard:(rank + 1) * shard].clone() for part in workload.examples(args.batch_size))
    inputs = [part.contiguous(memory_format=memory_format) if part.dim() == 4 else part for part in inputs]
    # From here on the replicas must differ, or all would drop the same units.
    torch.manual_seed(peer.SEED + 1 + rank)

    if args.compile:
        model.compile()
    replica = model
    if args.processes > 1:
        # Moving statistics stay local to a replica, as under MirroredStrategy, so nothing is broadcast per step.
        replica = DistributedDataParallel(
            model, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True
        )
    optimizer = workload.make_optimizer(part for part in replica.parameters() if part.requires_grad)
    loss_of = workload.loss()

    def precision():
        if args.precision == "bfloat16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with precision():
            loss = loss_of(replica(*inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return {**peer.train(step, args, start_s), "params": params}


def run_replica(rank, args, threads, master, start_s, results):
    """Finds the other replicas at the store `master`; replica 0 puts the report into `results`."""
    torch.set_num_threads(threads)
    group = args.processes > 1
    if group:
        store = dist.TCPStore(*master, is_master=False)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=args.processes)
    report = measure(rank, args, start_s)
    sums = torch.tensor([report["loss_first"], report["loss_last"], peer.peak_memory_mb()], dtype=torch.float64)
    if group:
        dist.all_reduce(sums)
        # Frees DDP's references, so that the group's threads end here. Those that free a tensor while Python ends abort.
        gc.collect()
        dist.destroy_process_group()
    loss_first, loss_last, memory = sums.tolist()
    if rank == 0:
        results.put({
            "peer": "pytorch-ddp" if group else "pytorch",
            "version": torch.__version__,
            "replicas": args.processes,
            "device": "CPU",
            **report,
            "loss_first": loss_first / args.processes,
            "loss_last": loss_last / args.processes,
            "peak_memory_mb": memory,
            "threads_per_replica": threads,
            "channels_last": args.channels_last,
            "compile": args.compile,
        })


def parse_args():
    parser = peer.make_parser(__doc__, WORKLOADS)
    parser.add_argument("--processes", type=int, default=2, help="replicas, one process each (default 2)")
    parser.add_argument("--rank", type=int, help="be this one of the processes, with all cores of this process, and "
                                                 "start no others")
    parser.add_argument("--master", default="127.0.0.1:0", metavar="ADDRESS:PORT",
                        help="where process 0 is to be found, with --rank")
    parser.add_argument("--interface", default="lo", help="of the network, for Gloo (default lo)")
    parser.add_argument("--channels-last", action=argparse.BooleanOptionalAction, default=True,
                        help="NHWC storage of images and weights")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=False,
                        help="torch.compile the model; needs a C++ compiler")
    args = parser.parse_args()
    peer.check(parser, args, "processes")
    if args.rank is not None and not 0 <= args.rank < args.processes:
        parser.error("--rank must be at least 0 and less than --processes")
    return args


def main():
    start_s = peer.process_start_s()
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
        run_replica(args.rank, args, threads, (host, int(port)), start_s, results)
    else:
        mp.spawn(run_replica, args=(args, threads, (host, store.port), start_s, results), nprocs=args.processes)
    if store:
        peer.say_and_print(results.get(), args.json)


if __name__ == "__main__":
    main()
