"""Runs valgrind over a training of one epoch on two replicas: no uninitialized reads, no leaks."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from trainer import SKIPPED, command

ERRORS = 99
OPTIONS = [f"--error-exitcode={ERRORS}", "--quiet", "--leak-check=full", "--show-leak-kinds=definite",
           "--errors-for-leak-kinds=definite",
           "--fair-sched=yes"]  # replicas spin while they wait for each other


def main():
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("skipped: there is no valgrind")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([valgrind, *OPTIONS, *command("-", 1, pathlib.Path(folder) / "w.weights.h5")],
                              capture_output=True, text=True, timeout=500, env={**os.environ, "OMP_NUM_THREADS": "2"})
    print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
