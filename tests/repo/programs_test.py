#!/usr/bin/env python3
"""Runs the first program of each page in its own folder and compares its output with that on the page.

Usage: programs_test.py PROGRAMS PAGE...

PROGRAMS takes a page's name and runs its program (snippets.py). A text block directly after the program is its whole
output."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FIRST = re.compile(r"^```cpp\n.*?^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
PROGRAMS, *PAGES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])


class Programs(unittest.TestCase):
    def test_pages(self):
        for page in PAGES:
            with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder:
                run = subprocess.run([PROGRAMS, page.stem], cwd=folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr)
                expected = FIRST.search(page.read_text())[1]
                if expected is not None:
                    self.assertEqual(run.stdout, expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
