#!/usr/bin/env python3
"""Times the all-reduce of PyTorch's Gloo between processes of this machine: the peer of `collectives_bench`.

Sums f32 tensors in place. Each size is verified before it is timed; the last line of stdout is one JSON object.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def brought(rank, elements):
    """Integers below 251, whose sums are exact in every order."""
    return ((torch.arange(elements) + 1) * (2 * rank + 3) % 251).float()


def verify(rank, processes, elements):
    values = brought(rank, elements)
    dist.all_reduce(values)
    expected = sum(brought(other, elements) for other in range(processes))
    assert torch.equal(values, expected), f"rank {rank} got another sum of {elements} elements"


def seconds_of(calls, values):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(values)
    return time.perf_counter() - begin


def mean_s(elements, min_time):
    """Mean time of a call, over calls that take about `min_time` together, as in Google Benchmark."""
    values = torch.ones(elements).zero_()  # sums stay 0, however many
    seconds_of(2, values)
    calls = torch.tensor(max(1, int(min_time / seconds_of(1, values))))
    dist.broadcast(calls, 0)
    return seconds_of(int(calls), values) / int(calls)


def measure(rank, args, port, results):
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=args.processes)
    seconds = {}
    for size in args.bytes:
        elements = size // 4
        verify(rank, args.processes, elements)
        seconds[size] = mean_s(elements, args.min_time)
    dist.destroy_process_group()
    if rank == 0:
        results.put({"version": torch.__version__, "processes": args.processes, "seconds": seconds})


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2,
                        help="number of processes, each with one thread (default 2)")
    parser.add_argument("--bytes", type=int, nargs="+", required=True, help="sizes, each a multiple of 4")
    parser.add_argument("--min-time", type=float, default=0.5,
                        help="approximate time to measure each size (default 0.5 s)")
    args = parser.parse_args()
    if args.processes < 2 or args.min_time <= 0 or any(size < 4 or size % 4 for size in args.bytes):
        parser.error("--processes must be at least 2, --min-time positive, --bytes positive multiples of 4")
    return args


def main():
    args = parse_args()
    # Otherwise Gloo resolves the host name, which may fail.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    # With port 0 the system picks a free one, without a race to bind it again.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(measure, args=(args, store.port, results), nprocs=args.processes)
    print(json.dumps(results.get()))


if __name__ == "__main__":
    main()
