"""Full and read-only disks: old files must stay complete, one line names the file, and no partial files are left.

The disks are small tmpfs mounts in the test's own mount namespace.
"""

import os
import subprocess
import sys
import unittest

from trainer import SKIPPED, Case, command

PAGE = os.sysconf("SC_PAGE_SIZE")


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class DiskCase(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.path / "disk"
        self.disk.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=8m", "none", self.disk)
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)
        self.backup = self.disk / "backup"

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments], check=True)

    def fill(self, but_bytes):
        """Fills the disk up to that many free bytes."""
        self.empty()
        free = os.statvfs(self.disk)
        pages = free.f_bavail * free.f_frsize // PAGE - -(-but_bytes // PAGE)
        (self.disk / "filler").write_bytes(bytes(pages * PAGE))

    def empty(self):
        (self.disk / "filler").unlink(missing_ok=True)

    def set_read_only(self, yes):
        self.mount("-o", f"remount,{'ro' if yes else 'rw'}", self.disk)


class Backups(DiskCase):
    def setUp(self):
        super().setUp()
        self.train(self.backup, 1, self.path / "unused.weights.h5")
        self.state = next(self.backup.glob("state-*.h5"))

    def expect_refused(self, *says):
        before = contents(self.backup)
        done = subprocess.run(command(self.backup, 2, self.path / "unused.weights.h5"), capture_output=True, text=True,
                              timeout=200)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertEqual(contents(self.backup), before)

    def test_a_full_disk(self):
        self.fill(but_bytes=self.state.stat().st_size // 2)
        self.expect_refused(f"{self.backup}/state-", "No space left on device")
        self.empty()
        self.expect_same_as_without_harm(self.backup, 3)

    def test_a_disk_that_is_full_after_the_first_of_its_two_files(self):
        self.fill(but_bytes=self.state.stat().st_size)
        self.expect_refused(f"{self.backup}/training_metadata.json", "No space left on device")
        self.empty()
        self.expect_same_as_without_harm(self.backup, 3)

    def test_a_disk_that_becomes_read_only(self):
        self.set_read_only(True)
        self.expect_refused(f"{self.backup}/state-", "Read-only file system")
        self.set_read_only(False)
        self.expect_same_as_without_harm(self.backup, 3)


class Outputs(DiskCase):
    """The options for all outputs of `lockstep train`."""

    NAMES = {"--save": "w.weights.h5", "--history": "h.json", "--step-log": "s.jsonl", "--csv": "c.csv",
             "--plot": "p.png", "--tensorboard": "events", "--checkpoint": "run"}
    LOGS = ["--step-log", "--csv", "--tensorboard"]  # opened before training; they may be cut off anywhere

    def expect_refused(self, option, path):
        done = subprocess.run(
            [os.environ["LOCKSTEP"], "train", "--data", "synthetic:4", "--batch-size", "4", "--replicas", "2", option, path],
            capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 2, done.stderr)
        complaints = [line for line in done.stderr.splitlines() if line.startswith("lockstep: ")]
        self.assertEqual(len(complaints), 1, done.stderr)
        self.assertIn(str(path), complaints[0])
        return done.stderr

    def test_a_full_disk(self):
        for option, name in self.NAMES.items():
            with self.subTest(option):
                self.fill(but_bytes=0)
                before = contents(self.disk)
                self.expect_refused(option, self.disk / name)
                if option not in self.LOGS:
                    self.assertEqual(contents(self.disk), before)

    def test_a_read_only_disk(self):
        self.set_read_only(True)
        for option, name in self.NAMES.items():
            with self.subTest(option):
                self.assertNotIn("Epoch", self.expect_refused(option, self.disk / name))

    def test_a_complete_run_on_a_read_only_disk(self):
        run = self.disk / "run"

        def train(*more):
            return subprocess.run(
                [os.environ["LOCKSTEP"], "train", "--model", "small-cnn", "--data", "synthetic:8", "--batch-size", "4",
                 "--replicas", "2", "--checkpoint", run, *more], capture_output=True, text=True, timeout=200)

        first = train("--epochs", "1")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn(f"wrote {run}: ", first.stderr)
        self.set_read_only(True)
        before = contents(self.disk)
        saved = self.path / "again.weights.h5"
        again = train("--epochs", "1", "--resume", "--save", saved)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(f"--resume: the run in {run} is complete after 1 epochs", again.stderr)
        self.assertNotIn(f"wrote {run}", again.stderr)
        self.assertEqual(saved.read_bytes(), (run / "last.weights.h5").read_bytes())
        longer = train("--epochs", "2", "--resume")
        self.assertEqual(longer.returncode, 2, longer.stderr)
        self.assertEqual(longer.stderr.splitlines()[-1],
                         f"lockstep: --checkpoint {run}: cannot be written: Read-only file system")
        self.assertNotIn("Epoch", longer.stderr)
        self.assertEqual(contents(self.disk), before)


if __name__ == "__main__":
    mounts = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if "IN_NAMESPACE" not in os.environ:
        possible = subprocess.run([*mounts, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True)
        if possible.returncode != 0:
            print(f"skipped, for disks cannot be mounted here: {possible.stderr.strip()}")
            sys.exit(SKIPPED)
        os.execvpe("unshare", [*mounts, sys.executable, "-B", *sys.argv], {**os.environ, "IN_NAMESPACE": "1"})
    unittest.main()
