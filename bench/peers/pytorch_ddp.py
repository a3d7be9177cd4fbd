#!/usr/bin/env python3
"""Trains a model with PyTorch, with DistributedDataParallel over several replicas, and reports its speed.

The peer of `lockstep bench`: the same network, optimizer, loss and batch split, as a PyTorch user would write them.
Starts its processes on this machine; with --rank it is one of several processes that were started otherwise, for
example on several machines. With --device cuda each process has its own GPU, where its data are from the start.
Messages go to stderr; with --json the last line of stdout is one JSON object.
"""

import argparse
import contextlib
import gc
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import peer
from pytorch_models import WORKLOADS, count_params


class StepTimes:
    """Times of the steps: on the host until it waits for the loss, and on the GPU between CUDA events."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"
        self.host_ms = []
        self.events = []

    def begin(self):
        self.start = time.perf_counter()
        if self.cuda:
            self.events.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
            self.events[-1][0].record()

    def end(self):
        if self.cuda:
            self.events[-1][1].record()
        self.host_ms.append((time.perf_counter() - self.start) * 1e3)

    def medians(self, warmup):
        if not self.cuda:
            return {}
        torch.cuda.synchronize()
        device_ms = [begin.elapsed_time(end) for begin, end in self.events[warmup:]]
        return {"host_ms": peer.percentile(self.host_ms[warmup:], 0.5), "device_ms": peer.percentile(device_ms, 0.5)}


def set_up_gpu(device, args):
    """Sets whether float32 may use TF32, and lets cuDNN choose algorithms by measured speed, as lockstep does."""
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = args.tf32
    torch.backends.cudnn.allow_tf32 = args.tf32
    torch.backends.cudnn.benchmark = True


def measure(rank, device, args, start_s):
    """Trains this replica together with the others of the group."""
    workload = WORKLOADS[args.model]
    # The same seed in all replicas: their weights start equal, and the global batch does not depend on their number.
    torch.manual_seed(peer.SEED)
    memory_format = torch.channels_last if args.channels_last else torch.contiguous_format
    model = workload.make_model().to(device, memory_format=memory_format)
    params = count_params(model)
    assert params == workload.params, f"{args.model} has {params} parameters, not {workload.params}"
    shard = args.batch_size // args.processes
    *inputs, labels = (part[rank * shard:(rank + 1) * shard].clone().to(device)
                       for part in workload.examples(args.batch_size))
    inputs = [part.contiguous(memory_format=memory_format) if part.dim() == 4 else part for part in inputs]
    # From here on the seeds must differ, or all replicas would drop the same units.
    torch.manual_seed(peer.SEED + 1 + rank)

    if args.compile:
        model.compile(mode=args.compile)
    replica = model
    if args.processes > 1:
        # Moving statistics stay local to a replica, as with MirroredStrategy, so no step broadcasts them.
        replica = DistributedDataParallel(
            model, forward_sync_buffers=False, gradient_as_bucket_view=True, static_graph=True
        )
    optimizer = workload.make_optimizer(part for part in replica.parameters() if part.requires_grad)
    loss_of = workload.loss()
    times = StepTimes(device)

    def precision():
        if args.precision == "bfloat16":
            return torch.autocast(device.type, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step():
        times.begin()
        optimizer.zero_grad(set_to_none=True)
        with precision():
            loss = loss_of(replica(*inputs), labels)
        loss.backward()
        optimizer.step()
        times.end()
        return loss.item()  # waits for the GPU, as each of lockstep's steps does

    return {**peer.train(step, args, start_s), **times.medians(args.warmup), "params": params}


def about_gpu(device):
    if device.type != "cuda":
        return {"device": "CPU"}
    return {"device": torch.cuda.get_device_name(device), "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "peak_device_memory_mb": torch.cuda.max_memory_reserved() / 2**20}


def run_replica(rank, args, threads, master, start_s, results):
    """Joins the other replicas through the store `master`; replica 0 puts the report into `results`."""
    torch.set_num_threads(threads)
    device = torch.device("cpu")
    if args.device == "cuda":
        device = torch.device("cuda", rank % torch.cuda.device_count())
        set_up_gpu(device, args)
    group = args.processes > 1
    if group:
        store = dist.TCPStore(*master, is_master=False)
        dist.init_process_group("nccl" if args.device == "cuda" else "gloo", store=store, rank=rank,
                                world_size=args.processes)
    report = measure(rank, device, args, start_s)
    sums = torch.tensor([report["loss_first"], report["loss_last"], peer.peak_memory_mb()], dtype=torch.float64,
                        device=device)
    if group:
        dist.all_reduce(sums)
        # Frees DDP's references, so that the group's threads end here: threads that free a tensor while Python exits
        # abort.
        gc.collect()
        dist.destroy_process_group()
    loss_first, loss_last, memory = sums.tolist()
    if rank == 0:
        results.put({
            "peer": "pytorch-ddp" if group else "pytorch",
            "version": torch.__version__,
            "replicas": args.processes,
            **about_gpu(device),
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
    parser.add_argument("--rank", type=int, help="run as this one of the processes, with all cores of this process, "
                                                 "and start no others")
    parser.add_argument("--master", default="127.0.0.1:0", metavar="ADDRESS:PORT",
                        help="address of process 0, with --rank")
    parser.add_argument("--interface", default="lo", help="network interface for Gloo (default lo)")
    parser.add_argument("--channels-last", action=argparse.BooleanOptionalAction, default=True,
                        help="NHWC storage of images and weights")
    parser.add_argument("--compile", choices=("default", "reduce-overhead"), nargs="?", const="default", metavar="MODE",
                        help="torch.compile the model, by default or with reduce-overhead, which captures CUDA graphs; "
                             "needs a C++ compiler")
    parser.add_argument("--compile-cache", type=pathlib.Path, metavar="DIR",
                        help="where torch.compile caches compiled code for later runs (default "
                             "TORCHINDUCTOR_CACHE_DIR, or a temporary folder of the user's)")
    args = parser.parse_args()
    peer.check(parser, args, "processes")
    if args.compile == "reduce-overhead" and args.device != "cuda":
        parser.error("--compile reduce-overhead is for --device cuda")
    if args.device == "cuda":
        peer.require_gpus(parser, 1 if args.rank is not None else args.processes, torch.cuda.device_count(), "PyTorch")
    if args.rank is not None and not 0 <= args.rank < args.processes:
        parser.error("--rank must be at least 0 and less than --processes")
    return args


def main():
    start_s = peer.process_start_s()
    args = parse_args()
    alone = args.rank is not None
    threads = max(1, len(os.sched_getaffinity(0)) // (1 if alone else args.processes))
    # Otherwise Gloo resolves the host name, which may fail.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", args.interface)
    if args.compile_cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(args.compile_cache.resolve())
    if not args.rank:
        print(f"pytorch {torch.__version__}: {args.model}, {args.processes} process(es) of {threads} thread(s), "
              f"global batch {args.batch_size}, {args.precision}, {args.device}", file=sys.stderr)
    host, _, port = args.master.rpartition(":")
    store = None
    if not args.rank:
        # With port 0 the system picks a free one, without a race to bind it again.
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
