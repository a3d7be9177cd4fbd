"""Runs the program of trainer.cpp (its path is in $TRAINER), with a folder for its files."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SKIPPED = 77  # as CMakeLists.txt declares to ctest


def command(folder, epochs, weights):
    return [os.environ["TRAINER"], str(folder), str(epochs), str(weights)]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def train(self, folder, epochs, weights):
        done = subprocess.run(command(folder, epochs, weights), capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)

    def progress(self, backup):
        """Checks that the backup is complete and returns the run's progress; None without a backup."""
        text = backup / "training_metadata.json"
        if not text.exists():
            return None
        said = json.loads(text.read_text())
        state = (backup / said["state"]).read_bytes()
        self.assertEqual(state[:8], b"\x89HDF\r\n\x1a\n")
        return said

    def expect_same_as_without_harm(self, backup, epochs):
        """Checks that the resumed run ends with the bits of an uninterrupted one."""
        self.train(backup, epochs, self.path / "resumed.weights.h5")
        self.train("-", epochs, self.path / "straight.weights.h5")
        self.assertEqual((self.path / "resumed.weights.h5").read_bytes(),
                         (self.path / "straight.weights.h5").read_bytes())
