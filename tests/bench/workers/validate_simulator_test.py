"""Compares the predictions of bench/simulator with real steps of 1 to 8 replicas over slow links:
bench/workers/validate_simulator.

The predictions use specified figures; none is fitted to these runs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

WORKERS = pathlib.Path(os.environ["WORKERS"])
sys.path.insert(0, str(WORKERS))
from hosts import allowed  # noqa: E402

SKIPPED = 77  # as CMakeLists.txt declares to ctest
# Measured three times on two cores that some dozen other programs used. Steps took 1.3 % less to 5.2 % longer than
# predicted, the hidden share was at most 6.1 points off, and exchanges took 0.5 to 1.9 % less. Over links with a
# latency, the shortest exchanges took up to 11 % longer: relay processes add the latency, and they are scheduled late.
# On one machine, exchanges of 8 hosts took 387 ms instead of 83 without other load, and those of 4 hosts 37 % more with
# other load: therefore only 2 and 3 hosts are checked for taking longer.
STEP = 0.1
HIDDEN = 0.15  # relative to the exchange, which is shorter than the step
EXCHANGE = 0.05
LATENCY = 0.3
HOSTS_WITH_CORES = 3


def measured_rows():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rows.json")
        subprocess.run([sys.executable, "-B", WORKERS / "validate_simulator", "--steps", "3", "--json", file,
                        "--waiting-step", os.environ["STEP_BENCH"], "--exchange", os.environ["EXCHANGE_BENCH"],
                        "--simulator", os.environ["SIMULATOR"]], check=True, timeout=500)
        return json.loads(file.read_text())["comparisons"]


def near(measured, predicted, tolerance):
    return abs(measured / predicted - 1) <= tolerance


class Simulator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows = measured_rows()
        cls.latencies = [row for row in rows if "latency_ms" in row]
        cls.rows = [row for row in rows if row not in cls.latencies]
        cls.alone, *cls.others = cls.rows

    def each(self, rows):
        for row in rows:
            with self.subTest(hosts=row["hosts"], replicas=row.get("replicas")):
                yield row

    def test_predicts_steps(self):
        self.assertEqual([(row["hosts"], row["replicas"]) for row in self.rows],
                         [(1, 1), (2, 2), (3, 3), (4, 4), (8, 8), (4, 8)])
        for row in self.each(self.rows):
            self.assertTrue(near(row["step"]["median_ms"], row["predicted"]["step_ms"], STEP), row)

    def test_predicts_exchanges(self):
        for row in self.each(self.others):
            self.assertTrue(near(row["exchange_alone"]["median_ms"], row["predicted"]["communication_ms"], EXCHANGE), row)

    def test_predicts_what_is_hidden(self):
        for row in self.each(self.others):
            self.assertAlmostEqual(row["hidden_share"], row["predicted"]["hidden_share"], delta=HIDDEN, msg=row)

    def test_predicts_latencies(self):
        self.assertEqual([row["hosts"] for row in self.latencies], [2, 3, 4, 8])
        for row in self.each(self.latencies):
            ratio = row["exchange_alone"]["min_ms"] / row["predicted"]["communication_ms"]
            self.assertGreater(ratio, 1 - LATENCY, row)
            if row["hosts"] <= HOSTS_WITH_CORES:
                self.assertLess(ratio, 1 + LATENCY, row)

    def test_more_hosts_take_longer_and_replicas_that_share_one_do_not(self):
        steps = {(row["hosts"], row["replicas"]): row["step"]["median_ms"] for row in self.rows}
        by_hosts = [steps[count, count] for count in (1, 2, 3, 4, 8)]
        self.assertEqual(by_hosts, sorted(by_hosts))
        self.assertTrue(near(steps[4, 8], steps[4, 4], STEP), steps)

    def test_are_not_met_by_steps_without_overlap_or_with_nothing_else(self):
        alone = self.alone["step"]["median_ms"]
        for row in self.each(self.others):
            without = alone + row["exchange_alone"]["median_ms"]
            self.assertFalse(near(row["step"]["median_ms"], without, 2 * STEP), row)
        longest = max(row["step"]["median_ms"] for row in self.others)
        self.assertGreater(longest, (1 + 3 * STEP) * alone)


if __name__ == "__main__":
    possible, reason = allowed()
    if not possible:
        print(f"skipped, for hosts cannot be made here: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
