#!/usr/bin/env python3
"""Reads a folder of images with Keras' image_dataset_from_directory and reports images per second.

A peer of bench/data/image_directory_bench.cpp: the same files, image size, resize, batches and number of threads.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras  # noqa: E402
import tensorflow  # noqa: E402


def report(options):
    size = (options.image_size, options.image_size)
    dataset = keras.utils.image_dataset_from_directory(options.directory, image_size=size,
                                                       batch_size=options.batch_size, verbose=False)
    threads = tensorflow.data.Options()
    threads.threading.private_threadpool_size = options.workers
    dataset = dataset.prefetch(tensorflow.data.AUTOTUNE).with_options(threads)
    for _ in dataset:
        pass
    start = time.perf_counter()
    images = sum(len(labels) for _ in range(options.epochs) for _, labels in dataset)
    return {"per_s": round(images / (time.perf_counter() - start), 1), "count": images // options.epochs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="folder with a subfolder for each class")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs, after a warm-up epoch")
    print(json.dumps(report(parser.parse_args())))


if __name__ == "__main__":
    main()
