#!/usr/bin/env python3
"""Reads a folder of images with torchvision's ImageFolder (PIL) and PyTorch's DataLoader and reports images per second.

A peer of bench/data/image_directory_bench.cpp: the same files, image size, batches and number of workers, as a PyTorch
user would write it. PIL's resize averages the pixels that an output pixel covers; lockstep's, like Keras', interpolates
between the four nearest.
With --make it only fills the folder with JPEG files, the same ones each time.
"""

import argparse
import json
import time
from pathlib import Path

import numpy
import torch
from PIL import Image
from torchvision import datasets, transforms

CLASSES = 4
HEIGHT, WIDTH = 375, 500  # like most photographs of ImageNet


def make_images(directory, count):
    """Smooth colors with some noise, which compress about as well as photographs."""
    random = numpy.random.default_rng(1)
    for number in range(count):
        folder = directory / f"class-{number % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        coarse = random.integers(0, 256, (12, 16, 3), dtype=numpy.uint8)
        smooth = numpy.asarray(Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), numpy.int16)
        noisy = numpy.clip(smooth + random.integers(-12, 13, smooth.shape), 0, 255).astype(numpy.uint8)
        Image.fromarray(noisy).save(folder / f"{number:05}.jpg", quality=90)


def report(options):
    torch.set_num_threads(1)  # the workers use the cores
    size = options.image_size
    steps = [
        transforms.Resize((size, size)),
        transforms.ToTensor(),
    ]
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(options.directory, transforms.Compose(steps)),
        batch_size=options.batch_size,
        shuffle=True,
        num_workers=options.workers,
        persistent_workers=True,
    )
    for _ in loader:
        pass
    start = time.perf_counter()
    images = sum(len(labels) for _ in range(options.epochs) for _, labels in loader)
    return {"per_s": round(images / (time.perf_counter() - start), 1), "count": images // options.epochs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="folder with a subfolder for each class")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs, after a warm-up epoch")
    parser.add_argument("--make", type=int, metavar="COUNT", help="only create this many images")
    options = parser.parse_args()
    if options.make:
        make_images(options.directory, options.make)
    else:
        print(json.dumps(report(options)))


if __name__ == "__main__":
    main()
