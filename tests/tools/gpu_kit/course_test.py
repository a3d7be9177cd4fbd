"""Tests the kit of tools/gpu-kit: packs it from the build folder, moves it to where that folder is not visible, and
runs it with the pretended CUDA, with tests that crash, hang or raise a lasting error, and with a budget that runs out.

Usage: course_test.py ROOT BUILD; environment variables name the kit's programs that find the pretended GPUs."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT, BUILD = map(pathlib.Path, sys.argv[1:3])
del sys.argv[1:3]
PACKER = ROOT / "tools" / "gpu-kit"
TESTS = "^gpu[.]strategy_(core|variable)_test$"
TROUBLES = {
    "AWorkingCaseAtFirst": "passed", "Crash": "crashed", "ACaseBehindTheCrash": "passed", "Hang": "timed out",
    "ACaseBehindTheHang": "passed", "HangWithoutAWatchdog": "timed out", "ACaseThatLeavesAStickyError": "passed",
    "ACaseThatAnothersErrorReaches": "passed", "StickyError": "failed", "ACaseBehindTheStickyError": "passed",
    "Failure": "failed", "Skipped": "failed", "AWorkingCaseAtLast": "passed"}
# Items that need a driver, or programs that machines without a GPU rarely have: they must begin, whatever the result.
NEEDS_A_GPU = {"smoke", "peers", "timelines", "ncu", "sanitizer"}
LARGEST_FILE = 16 << 20


def hidden(command):
    """The command, run where the project's folder appears empty; unchanged if this user may not hide it."""
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(ROOT)]
    allowed = subprocess.run([*hide, "true"], capture_output=True).returncode == 0
    return [*hide, *command] if allowed else command


class Kit:
    """Unpacks a kit whose programs find the pretended GPUs."""

    def __init__(self, folder):
        self.archive = folder / "kit.tar.xz"
        subprocess.run([PACKER, "--build", BUILD, "--tests", TESTS, "--compression", "0", "--output", self.archive], check=True)
        with tarfile.open(self.archive) as archive:
            archive.extractall(folder)
        self.root = folder / "lockstep-gpu-kit"
        self.outs = folder / "outs"
        for name, variable in {"bin/lockstep": "LOCKSTEP", "bin/collectives_bench": "COLLECTIVES_BENCH", "bin/troubles": "TROUBLES",
                               "lib/pretend_cuda.so": "PRETEND_CUDA"}.items():
            shutil.copy(os.environ[variable], self.root / name)
        self.manifest = json.loads((self.root / "manifest.json").read_text())
        self.entries = self.manifest["tests"]
        for entry in self.entries:
            entry["environment"]["LOCKSTEP_TEST_DEVICES"] = "pretend_cuda"

    def run(self, tests, *options, path="/usr/bin:/bin"):
        """Runs the kit with these of its tests; results are in outs/."""
        (self.root / "manifest.json").write_text(json.dumps({**self.manifest, "tests": tests}))
        environment = {"PATH": path, "HOME": str(self.root), "LD_PRELOAD": str(self.root / "lib/pretend_cuda.so")}
        command = [sys.executable, self.root / "run", "--small", "--out", self.outs, *options]
        return subprocess.run(hidden(command), capture_output=True, text=True, env=environment, cwd=self.root)

    def summary(self):
        return json.loads((self.outs / "summary.json").read_text())

    def verdicts(self, group):
        return {(item, case): entry["verdict"] for entry in self.summary()["verdicts"]
                for of, item, case in [entry["of"]] if of == group}

    def lines(self, name="tests.jsonl"):
        return [json.loads(line) for line in (self.outs / name).read_text().splitlines()]


class Course(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.kit = Kit(pathlib.Path(cls.folder.name))
        cls.troubles = {"name": "troubles", "program": "bin/troubles", "filter": "*",
                        "environment": {"LOCKSTEP_TEST_DEVICES": "pretend_cuda"}}

    def setUp(self):
        shutil.rmtree(self.kit.outs, ignore_errors=True)

    def assert_last_line(self, done):
        """Counts the verdicts on disk."""
        counts = dict(re.findall(r"([a-z ]+?) (\d+)(?:, |$)", done.stdout.splitlines()[-1]))
        found = [entry["verdict"] for entry in self.kit.summary()["verdicts"]]
        self.assertEqual({name: int(count) for name, count in counts.items()}, {name: found.count(name) for name in counts})
        self.assertEqual(sum(map(int, counts.values())), len(found))
        last = {(line["group"], line["item"], line["case"]): line["verdict"] for name in ("tests", "bench", "torch")
                if (self.kit.outs / f"{name}.jsonl").exists() for line in self.kit.lines(f"{name}.jsonl")}
        for entry in self.kit.summary()["verdicts"]:
            self.assertEqual(last[tuple(entry["of"])], entry["verdict"])

    def assert_few_files(self):
        files = list(self.kit.outs.iterdir())
        self.assertLessEqual(len(files), 8)
        for file in files:
            self.assertTrue(file.is_file(), file)
            self.assertLess(file.stat().st_size, LARGEST_FILE, file)

    def assert_nothing_of_the_build(self):
        with tarfile.open(self.kit.outs / "logs.tar.xz") as logs:
            for member in logs.getmembers():
                self.assertNotIn(str(BUILD).encode(), logs.extractfile(member).read(), member.name)

    def test_every_group_runs(self):
        done = self.kit.run(self.kit.entries)
        self.assert_last_line(done)
        self.assert_few_files()
        self.assert_nothing_of_the_build()
        groups = {entry["of"][0] for entry in self.kit.summary()["verdicts"]}
        self.assertLessEqual({"checks", "tests", "doctor", "train", "bench", "peers", "ncu", "sanitizer", "several"}, groups)
        bad = [entry for entry in self.kit.summary()["verdicts"]
               if entry["of"][0] not in NEEDS_A_GPU and entry["verdict"] not in ("passed", "not there")]
        self.assertEqual(bad, [], done.stdout)
        self.assertEqual(self.kit.summary()["machine"]["devices"][-1]["name"], "GPU:2")
        for entry in self.kit.entries:
            self.assertIn(entry["name"], {item for item, _ in self.kit.verdicts("tests")})
        for line in self.kit.lines("bench.jsonl"):
            self.assertTrue(line.get("figures") or line["verdict"] == "not there" or line["case"], line)

    def test_every_case_has_a_verdict_of_its_own(self):
        done = self.kit.run([self.troubles], "--only", "tests", "--case-limit", "8")
        self.assertEqual(done.returncode, 1, done.stderr)
        verdicts = {case.partition(".")[2]: verdict for (_, case), verdict in self.kit.verdicts("tests").items()}
        self.assertEqual(verdicts, TROUBLES, done.stdout)
        self.assert_last_line(done)
        hang = next(line for line in self.kit.lines() if line["case"] == "Troubles.Hang")
        self.assertIn("no replica runs", hang["detail"])  # text of the watchdog

        again = self.kit.run([self.troubles], "--only", "failed", "--case-limit", "8")
        self.assertEqual(again.returncode, 1)
        self.assertEqual(again.stdout.splitlines()[-1], done.stdout.splitlines()[-1])
        ran = [line["case"] for line in self.kit.lines()]
        for case, verdict in TROUBLES.items():
            self.assertEqual(ran.count(f"Troubles.{case}"), 1 if verdict == "passed" else 2, case)

    def test_programs_of_the_machine_run_without_the_kits_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            profiler = pathlib.Path(folder) / "ncu"
            profiler.write_text('#!/bin/sh\necho "\\"libraries: $LD_LIBRARY_PATH\\""\necho "\\"a kernel\\""\n')
            profiler.chmod(0o755)
            self.kit.run([], "--only", "ncu", path=f"{folder}:/usr/bin:/bin")
        self.assertEqual((self.kit.outs / "ncu.csv").read_text(), '"libraries: "\n"a kernel"\n')

    def test_a_spent_budget(self):
        case = {**self.troubles, "filter": "Troubles.AWorkingCaseAtFirst:Troubles.Hang:Troubles.ACaseBehindTheHang"}
        done = self.kit.run([case, {**case, "name": "another"}], "--only", "tests,ncu", "--jobs", "1", "--budget", "15")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.kit.verdicts("tests"), {
            ("troubles", "Troubles.AWorkingCaseAtFirst"): "passed", ("troubles", "Troubles.Hang"): "timed out",
            ("troubles", "Troubles.ACaseBehindTheHang"): "not begun", ("another", None): "not begun"})
        self.assertEqual(self.kit.verdicts("ncu"), {("batch normalization", None): "not begun"})
        self.assert_last_line(done)

    def test_all_that_passes_is_success(self):
        case = {**self.troubles, "filter": "*Working*"}
        self.assertEqual(self.kit.run([case], "--only", "tests").returncode, 0)

    def test_a_library_that_is_not_there_is_named(self):
        (self.kit.root / "bin" / "orphan").write_bytes(
            (self.kit.root / "bin" / "troubles").read_bytes().replace(b"libfmt.so", b"libfnt.so"))
        (self.kit.root / "bin" / "orphan").chmod(0o755)
        done = self.kit.run([], "--only", "checks")
        (self.kit.root / "bin" / "orphan").unlink()
        self.assertEqual(done.returncode, 1)
        self.assertIn("libfnt.so", done.stdout)
        self.assertIn("needed by orphan", done.stdout)
        mended = self.kit.run([], "--only", "failed")
        self.assertEqual((mended.returncode, mended.stdout.split(",")[0]), (0, "passed 1"))


class Refusals(unittest.TestCase):
    def refuse(self, *command, says):
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(says, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_of_the_packer(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refuse(PACKER, "--architectures", "sm_90", says="must be numbers such as 90")
            self.refuse(PACKER, "--build", folder, says="no gpu_kit.json")
            self.refuse(PACKER, "--output", f"{folder}/nowhere/kit.tar.xz", says="there is no such folder")
            self.refuse(PACKER, "--build", BUILD, "--tests", "nothing", "--output", f"{folder}/kit.tar.xz", says="no test is labelled")

    def test_of_the_runner(self):
        with tempfile.TemporaryDirectory() as folder:
            runner = ROOT / "tools" / "gpu_kit" / "run"
            self.refuse(runner, "--only", "everything", says="'everything' is none of checks")
            self.refuse(runner, "--only", "failed", "--out", folder, says="no summary.json of an earlier run")
            self.refuse(runner, "--budget", "0", says="must be a positive number")


if __name__ == "__main__":
    unittest.main()
