"""Sends SIGKILL at random moments, most of them while a backup is written: kill_test.py KILLS."""

import random
import subprocess
import sys
import time
import unittest

from trainer import Case, command

BACKUPS = 2  # most backups that a run writes before it is killed
WITHOUT_END = 10**9

kills = 200


class Kill(Case):
    def seconds_per_backup(self):
        """Of a step that ends with one."""
        epochs, steps = 4, 20

        def seconds(folder):
            start = time.monotonic()
            self.train(folder, epochs, self.path / "unused.weights.h5")
            return time.monotonic() - start

        # The fastest of three, because other tests run at the same time.
        with_backups = min(seconds(self.path / f"timed{run}") for run in range(3))
        without = min(seconds("-") for _ in range(3))
        return max(1e-3, (with_backups - without) / steps)

    def test_the_last_backup_is_whole_and_the_run_resumes_to_the_same_bits(self):
        moments = random.Random(1)
        backup = self.path / "backup"
        longest_s = BACKUPS * self.seconds_per_backup()
        within_writing = 0
        steps_before = 0
        without_progress = 0
        for kill in range(kills):
            process = subprocess.Popen(command(backup, WITHOUT_END, self.path / "unused.weights.h5"),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if process.stdout.readline() != "begun\n":
                self.fail(f"kill {kill}: does not resume: {process.communicate(timeout=200)[1]}")
            time.sleep(moments.uniform(0, longest_s))
            process.kill()
            process.communicate(timeout=200)
            within_writing += any(backup.glob(".lockstep-*.tmp"))
            said = self.progress(backup)
            steps = said["steps"] if said else 0
            self.assertGreaterEqual(steps, steps_before, f"kill {kill}: an older backup is back")
            without_progress = without_progress + 1 if steps == steps_before else 0
            if without_progress == 3:  # other tests slow the runs down more than they did when backups were timed
                longest_s *= 2
                without_progress = 0
            steps_before = steps
        print(f"{kills} kills within {longest_s:.3f} s at most, {within_writing} while a file was written, {steps_before} steps done")
        self.assertGreater(steps_before, 0, "no run was killed after a backup")
        if kills >= 100:  # with fewer, all may miss
            self.assertGreater(within_writing, kills / 20, "too few kills met the writer at work")
            self.assertGreater(steps_before, kills / 4, "the run hardly moved")
        self.expect_same_as_without_harm(backup, said["epoch"] + 2)
        self.assertEqual(len(list(backup.iterdir())), 2, "what the killed writers left is gone")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        kills = int(sys.argv.pop(1))
    unittest.main()
