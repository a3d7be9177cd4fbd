"""The program lockstep_simulator as users run it: tables, JSON, exit codes, and every file that comes with it."""

import json
import os
import pathlib
import subprocess
import unittest

FOLDER = pathlib.Path(os.environ["FOLDER"])
STEPS = sorted((FOLDER / "steps").glob("*.json"))
MACHINES = sorted((FOLDER / "machines").glob("*.json"))


def run(*arguments, step=FOLDER / "steps/vgg16-p100.json", machine=FOLDER / "machines/p100-pcie-25gbit.json"):
    command = [os.environ["SIMULATOR"], "--step", step, "--machine", machine, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


class Simulator(unittest.TestCase):
    def test_predicts_every_step_on_every_machine(self):
        self.assertGreater(len(STEPS) * len(MACHINES), 0)
        for step in STEPS:
            for machine in MACHINES:
                done = run("--json", step=step, machine=machine)
                self.assertEqual(done.returncode, 0, done.stderr)
                result = json.loads(done.stdout)
                devices = [prediction["devices"] for prediction in result["predictions"]]
                self.assertEqual(devices, [8 << power for power in range(12)])
                for prediction in result["predictions"]:
                    self.assertGreaterEqual(prediction["step_ms"], result["one_device_ms"])

    def test_says_where_scaling_breaks(self):
        done = run("--algorithm", "ring", "--devices", "4,128,512", "--bucket-mb", "64", "--json")
        self.assertEqual(len(done.stdout.splitlines()), 1)
        result = json.loads(done.stdout)
        self.assertEqual(result["breaks"]["devices"], 128)
        self.assertEqual(result["breaks"]["bound"], "bandwidth")
        self.assertEqual({p["bucket_mb"] for p in result["predictions"]}, {64})
        self.assertEqual({p["algorithm"] for p in result["predictions"]}, {"ring"})
        self.assertIn("Scaling breaks at 128 devices", done.stderr)

        done = run("--devices", "4")
        self.assertEqual(done.stdout, "")
        self.assertIn("Efficiency is 90% or more on up to 4 devices", done.stderr)

    def test_refuses_wrong_input_in_one_line(self):
        for text, arguments in (
            ("missing.json: cannot be read", {"step": "missing.json"}),
            ("no field 'devices_per_node'", {"machine": STEPS[0]}),
            ("--algorithm: butterfly not in", ["--algorithm", "butterfly"]),
            ("--devices: Value 0 not in range", ["--devices", "0"]),
            ("devices: 6 do not fill nodes of 4", ["--devices", "6"]),
            ("--bucket-mb", ["--bucket-mb", "-1"]),
        ):
            done = run(**arguments) if isinstance(arguments, dict) else run(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("lockstep_simulator: "), done.stderr)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
