"""Reads the lines that print_tensor.h prints."""

import subprocess

import numpy as np


def tensors_of(*command):
    """(label, dtype, values) of each line that the command prints."""
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        label, dtype, shape, values = line.split("\t")
        numbers = np.array(values.split(), dtype=np.float64)
        yield label, dtype, numbers.reshape([int(size) for size in shape.split()])
