"""bench/workers/measure.py with programs that end at once or never. Usage: measure_test.py WORKERS"""

import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1))))
import measure  # noqa: E402


class RunTogether(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def until(self, name):
        return f"while [ ! -e {self.path}/{name} ]; do sleep 0.01; done"

    def waiting(self):
        """A program whose child waits for the file "go"."""
        return ["sh", "-c", f"(touch {self.path}/started; {self.until('go')}; touch {self.path}/went); true"]

    def check_ended(self):
        self.assertTrue((self.path / "started").exists())
        (self.path / "go").touch()
        time.sleep(0.5)
        self.assertFalse((self.path / "went").exists())

    def test_outputs_are_in_the_order_of_the_commands(self):
        # The first waits for the second, whose output is larger than a pipe holds.
        first = ["sh", "-c", f"{self.until('done')}; echo first"]
        second = ["sh", "-c", f"head -c 1000000 /dev/zero | tr '\\0' x; touch {self.path}/done"]
        self.assertEqual(measure.run_together([first, second]), ["first\n", "x" * 1000000])

    def test_one_that_fails_ends_the_others(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(SystemExit, "^failed with 3: sh -c .* exit 3$"):
            measure.run_together([self.waiting(), ["sh", "-c", f"{self.until('started')}; exit 3"]])
        self.assertLess(time.monotonic() - begin, 60)
        self.check_ended()

    def test_all_end_after_the_limit(self):
        self.addCleanup(setattr, measure, "LIMIT_S", measure.LIMIT_S)
        measure.LIMIT_S = 1
        with self.assertRaisesRegex(SystemExit, "^not done after 1 s: sh -c "):
            measure.run_together([self.waiting()])
        self.check_ended()


if __name__ == "__main__":
    unittest.main()
