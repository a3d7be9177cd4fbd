"""SIGINT and SIGTERM: the current step ends, the requested outputs are written, and the same command resumes."""

import json
import os
import signal
import subprocess
import unittest

from trainer import Case

TRAIN = [os.environ["LOCKSTEP"], "train", "--data", "synthetic:16", "--batch-size", "4", "--replicas", "2", "--epochs",
         "3"]
STEPS = 4  # steps of an epoch


class Signals(Case):
    def weights_after(self, number):
        """Those of a run that has got the signal and was started again."""
        folder = ["--checkpoint", self.path / f"run-{number}"]
        log = self.path / f"s-{number}.jsonl"
        process = subprocess.Popen([*TRAIN, *folder, "--step-log", log, "--history", self.path / "h.json"],
                                   stderr=subprocess.DEVNULL)
        while not (log.exists() and log.read_text().count("\n") >= STEPS + 2):
            self.assertIsNone(process.poll())
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=200), 128 + number)
        done = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertLess(len(done), 3 * STEPS)
        json.loads((self.path / "h.json").read_text())

        weights = self.path / "resumed.weights.h5"
        subprocess.run([*TRAIN, *folder, "--resume", "--step-log", log, "--save", weights], check=True, capture_output=True)
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual(steps[:len(done)], done, "resumes from the step that was in hand")
        self.assertEqual([step["step"] for step in steps], list(range(3 * STEPS)))
        return weights.read_bytes()

    def test_interrupt_and_terminate(self):
        straight = self.path / "straight.weights.h5"
        subprocess.run([*TRAIN, "--save", straight], check=True, capture_output=True)
        for number in [signal.SIGINT, signal.SIGTERM]:
            self.assertEqual(self.weights_after(number), straight.read_bytes(), number)


if __name__ == "__main__":
    unittest.main()
