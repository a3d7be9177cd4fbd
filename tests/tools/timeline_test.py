"""Loads liblockstep_timeline.so in a program as CUDA does. Usage: timeline_test.py LIBRARY FOLDER_OF_PRETENDED_CUPTI"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PRETENDED = sys.argv.pop(2)
LIBRARY = sys.argv.pop(1)
PROGRAM = """
import ctypes, sys
print(ctypes.CDLL(sys.argv[1]).InitializeInjection(), "started")
"""


class Timeline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, cupti=PRETENDED, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
        done = subprocess.run([sys.executable, "-c", PROGRAM, LIBRARY], capture_output=True, text=True, timeout=30,
                              env={**environment, "LD_LIBRARY_PATH": cupti, **variables})
        self.assertEqual((done.returncode, done.stdout), (0, "1 started\n"), done.stderr)
        return done.stderr.splitlines()

    def test_writes_what_the_gpu_did_and_sums_it_up(self):
        file = self.folder / "out.json"
        self.assertEqual(self.run_program(LOCKSTEP_TIMELINE=str(file)),
                         ["lockstep timeline: GPU 0: 3 kernels, busy 0.003 ms, gaps 0.003 ms, span 0.006 ms"])
        events = json.loads(file.read_text())["traceEvents"]
        spans = [(event["name"], event["tid"], event["ts"], event["dur"], event.get("args")) for event in events
                 if event["ph"] == "X"]
        self.assertEqual(spans, [("spin(float*, int)", 7, 0, 1, None), ("triton_poi_fused_0", 8, 0.5, 1.5, None),
                                 ("copy from the host", 9, 2, 1, {"bytes": 4096}), ("spin(float*, int)", 7, 5, 1, None)])
        self.assertEqual([event["args"]["name"] for event in events if event["ph"] == "M"],
                         ["GPU 0", "stream 7", "stream 8", "stream 9"])

    def test_keeps_no_more_than_its_limit(self):
        file = self.folder / "out.json"
        lines = self.run_program(LOCKSTEP_TIMELINE=str(file), LOCKSTEP_TIMELINE_LIMIT="2")
        self.assertEqual(lines[1:], ["lockstep timeline: the first 2 kernels, copies and memsets are recorded, 2 are left "
                                     "out; LOCKSTEP_TIMELINE_LIMIT=N sets how many are kept"])
        self.assertEqual(sum(event["ph"] == "X" for event in json.loads(file.read_text())["traceEvents"]), 2)

    def test_each_process_can_have_its_own_file(self):
        self.run_program(LOCKSTEP_TIMELINE=str(self.folder / "out.%p.json"))
        [file] = self.folder.iterdir()
        self.assertTrue(file.name[4:-5].isdecimal(), file.name)

    def test_what_it_cannot_do_is_one_line_and_the_program_continues(self):
        file = str(self.folder / "out.json")
        for says, variables in (
            ("nothing is recorded: set LOCKSTEP_TIMELINE", {}),
            ("LOCKSTEP_TIMELINE_LIMIT must be a whole number of at least 1, got '0'",
             {"LOCKSTEP_TIMELINE": file, "LOCKSTEP_TIMELINE_LIMIT": "0"}),
        ):
            [line] = self.run_program(**variables)
            self.assertIn(says, line)
        lines = self.run_program(LOCKSTEP_TIMELINE=str(self.folder / "no" / "out.json"))
        self.assertIn("out.json: cannot be written", lines[-1])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_cuptis_own_library_refuses_where_there_is_no_driver(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        [line] = self.run_program(cupti="", LOCKSTEP_TIMELINE=str(self.folder / "out.json"))
        self.assertRegex(line, "lockstep timeline: (GPU activity cannot be recorded: cupti.* failed|libcupti.* cannot be loaded)")


if __name__ == "__main__":
    unittest.main()
