"""bench/libtorch/run with the real libtorch_bench. Usage: run_test.py RUN LIBTORCH_BENCH SIDE ..."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(sys.argv.pop(1))
PROGRAM = pathlib.Path(sys.argv.pop(1))
SIDES = sys.argv[1:]
del sys.argv[1:]


def run_with(*options):
    return subprocess.run([RUN, "--program", PROGRAM, *options], capture_output=True, text=True)


class Run(unittest.TestCase):
    def test_all_ways_start_from_the_same_loss_and_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            done = run_with("--models", "transformer:6", "--replicas", "3", "--rounds", "1", "--steps", "1", "--warmup", "1",
                            "--sides", *SIDES, "--json", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            [comparison] = json.loads(out.read_text())["comparisons"]
        self.assertEqual((comparison["replicas"], comparison["global_batch"]), (3, 6))
        [entry] = comparison["rounds"]
        losses = [report["loss_first"] for side, report in entry["reports"].items() if side != "one"]
        self.assertLess(max(losses) - min(losses), 1e-3 * losses[0])
        for side in SIDES:
            speeds = [entry["reports"][name]["examples_per_s"] for name in ("lockstep", side)]
            self.assertAlmostEqual(comparison["ratios"][side], speeds[0] / speeds[1])
            self.assertIn(f"  {side}", done.stdout)

    def test_bad_options_are_reported_before_anything_runs(self):
        for options, says in (
            (["--models", "transformer:7"], "multiple of --replicas 2"),
            (["--models", "alexnet:8"], "alexnet:8: a model (resnet50"),
            (["--json", "/none/out.json"], "out.json: cannot be written in its folder: No such"),
            (["--program", "/none/libtorch_bench"], "no program at /none/libtorch_bench"),
        ):
            done = run_with(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
