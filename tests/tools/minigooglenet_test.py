"""Runs the example minigooglenet on files in CIFAR-10's form: images of one class are bright at the top, the others at
the bottom.

usage: minigooglenet_test.py PROGRAM
"""

import csv
import pathlib
import random
import subprocess
import sys
import tempfile

EPOCHS = 2
IMAGES = 256


def record(label):
    half = bytes(random.randrange(192, 256) for _ in range(512))
    dark = bytes(random.randrange(64) for _ in range(512))
    return bytes([label]) + (half + dark if label == 0 else dark + half) * 3


def main():
    program = sys.argv[1]
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ["data_batch_1", "test_batch"]:
            (folder / f"{part}.bin").write_bytes(b"".join(record(i % 2) for i in range(IMAGES)))
        plot = folder / "plot.png"
        done = subprocess.run([program, "--data", folder, "--output", plot, "--gpus", "2", "--epochs", str(EPOCHS),
                               "--limit", str(IMAGES)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert f"after {EPOCHS} epochs" in done.stdout, done.stdout
        assert plot.read_bytes().startswith(b"\x89PNG")
        with open(f"{plot}.csv", newline="") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]
        assert len(losses) == EPOCHS and losses[1] < losses[0], losses

        wrong = subprocess.run([program, "--outputs", plot], capture_output=True, text=True)
        assert wrong.returncode == 2 and wrong.stderr.startswith("usage:"), wrong.stderr


if __name__ == "__main__":
    main()
