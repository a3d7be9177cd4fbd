#!/usr/bin/env python3
"""Reads a CSV file with tf.data's make_csv_dataset and reports rows per second: a peer of bench/data/csv_bench.cpp.

make_csv_dataset parses whole batches with tf.io.decode_csv. The types are inferred from the first rows, as by default.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow  # noqa: E402

BATCH = 4096


def report(options):
    threads = tensorflow.data.Options()
    threads.threading.private_threadpool_size = options.workers
    dataset = tensorflow.data.experimental.make_csv_dataset(
        str(options.file), BATCH, num_epochs=1, shuffle=False, num_parallel_reads=1,
        prefetch_buffer_size=tensorflow.data.AUTOTUNE).with_options(threads)

    def read():
        return sum(int(next(iter(batch.values())).shape[0]) for batch in dataset)

    rows = read()
    start = time.perf_counter()
    for _ in range(options.epochs):
        read()
    return {"per_s": round(rows * options.epochs / (time.perf_counter() - start), 1), "count": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3, help="measured passes, after one that is not measured")
    print(json.dumps(report(parser.parse_args())))


if __name__ == "__main__":
    main()
