"""Every script of bench/ that is a command starts, and says how it is called. Usage: scripts_test.py BENCH"""

import os
import pathlib
import subprocess
import sys
import unittest

BENCH = pathlib.Path(sys.argv.pop(1))
SCRIPTS = [path for path in sorted(BENCH.rglob("*"))
           if path.is_file() and not path.suffix and os.access(path, os.X_OK) and path.read_bytes()[:2] == b"#!"]


class Scripts(unittest.TestCase):
    def test_there_are_some(self):
        self.assertIn(BENCH / "peers" / "run", SCRIPTS)

    def test_say_how_they_are_called(self):
        for script in SCRIPTS:
            with self.subTest(script.relative_to(BENCH)):
                done = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=60)
                self.assertIn("usage: ", done.stdout + done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
