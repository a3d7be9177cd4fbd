"""Runs `lockstep train`, `evaluate` and `predict` in several processes, as mpirun starts them.

The paths are in $LOCKSTEP and $MPIRUN.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["LOCKSTEP"]
MPIRUN = shlex.split(os.environ["MPIRUN"])
DATA = ["--data", "synthetic:32"]
TRAIN = ["train", "--strategy", "multi-worker", *DATA, "--batch-size", "8", "--optimizer", "sgd", "--learning-rate",
         "0.01"]
SMALL = ["--model", "siamese-lstm"]
VERSION = subprocess.run([MPIRUN[0], "--version"], capture_output=True, text=True).stdout  # "mpiexec (OpenRTE) 4.1.4"
IS_OPEN_MPI_4 = re.search(r"\) 4\.", VERSION)
# When a worker dies, the launcher gives the others time to report it.
PATIENT = ["--mca", "odls_base_sigkill_timeout", "5"] if IS_OPEN_MPI_4 else []
if not IS_OPEN_MPI_4:
    os.environ["OMPI_MCA_btl"] = "^tcp"  # it warns of network interfaces that it cannot use


def each(*commands, options=()):
    """Starts a worker for each command. Not with ":" between them, with which mpirun of Open MPI 5.0.7 crashes."""
    cases = "".join(f"{rank}) exec {shlex.join(map(str, arguments))};; " for rank, arguments in enumerate(commands))
    return [*MPIRUN, *options, "-np", str(len(commands)), "/bin/sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {cases}esac"]


def command(workers, *arguments, options=()):
    return [*MPIRUN, *options, "-np", str(workers), PROGRAM, *TRAIN, *SMALL, *map(str, arguments)]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_workers(self, arguments, environment=None):
        return subprocess.run(arguments, capture_output=True, text=True, timeout=200,
                              env={**os.environ, **(environment or {})})

    def start(self, arguments):
        """The running processes: the launcher, and the workers by number."""
        log = self.path / "steps.jsonl"
        launcher = subprocess.Popen([*arguments, "--epochs", "100000", "--step-log", str(log)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, launcher)
        deadline = time.monotonic() + 100
        while not (log.exists() and log.read_text().count("\n") >= 6):  # an epoch has 4 lines
            if launcher.poll() is not None or time.monotonic() > deadline:
                launcher.kill()
                self.fail(f"it did not begin to train: {launcher.communicate()[1]}, {self.written()}")
            time.sleep(0.05)
        workers = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_text().split("\0")
                if pathlib.Path(os.readlink(process / "exe")) != pathlib.Path(PROGRAM).resolve():
                    continue
            except OSError:
                continue  # another user's process, or it has ended
            values = dict(entry.split("=", 1) for entry in environment if "=" in entry)
            if values.get("LOCKSTEP_TEST_RUN") == self.id():
                workers[int(values["OMPI_COMM_WORLD_RANK"])] = int(process.name)
        return launcher, workers

    def end(self, launcher):
        launcher.kill()
        launcher.communicate()

    def start_marked(self, workers, *arguments, options=()):
        """Starts a run with a file for each worker's standard error: mpirun may lose output when it ends a job."""
        by_rank = ["/bin/sh", "-c", f'exec "$0" "$@" 2> "{self.path}/stderr.$OMPI_COMM_WORLD_RANK"']
        marked = command(workers, *arguments, options=["-x", "LOCKSTEP_TEST_RUN=" + self.id(), *options])
        program = marked.index(PROGRAM)
        return self.start([*marked[:program], *by_rank, *marked[program:]])

    def written(self):
        """Output of each worker of start_marked, by number."""
        return {int(file.suffix[1:]): file.read_text() for file in self.path.glob("stderr.*")}

    def errors_of(self, worker):
        return [line for line in self.written().get(worker, "").splitlines() if line.startswith("lockstep: ")]

    def said_by(self, output):
        """Output of each worker, by number; mpirun tags the lines."""
        lines = {}
        for tag, text in re.findall(r"^\[\d+,(\d+)\]<std\w+>: ?(.*)$", output, re.MULTILINE):
            lines.setdefault(int(tag), []).append(text)
        return lines

    def ends(self, launcher, others, *says):
        """Checks that the run fails, and that each of the other workers reports one error with all of these texts."""
        launcher.communicate(timeout=60)
        self.assertNotEqual(launcher.returncode, 0)
        for worker in others:
            errors = self.errors_of(worker)
            self.assertEqual(len(errors), 1, self.written())
            for part in says:
                self.assertIn(part, errors[0])


class Train(Case):
    def test_gives_what_one_process_gives_and_speaks_once(self):
        arguments = ["--epochs", "2", "--history"]
        done = self.run_workers(command(2, *arguments, self.path / "workers.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.said_by(done.stderr)), [0])
        alone = ["train", *TRAIN[3:], *SMALL, "--replicas", "2", *arguments, str(self.path / "alone.json")]
        subprocess.run([PROGRAM, *alone], check=True, capture_output=True, timeout=200)
        by_workers = json.loads((self.path / "workers.json").read_text())
        expected = json.loads((self.path / "alone.json").read_text())
        for a, b in zip(by_workers["loss"], expected["loss"], strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_several_replicas_on_each_of_an_odd_number_of_workers(self):
        done = self.run_workers(command(3, "--replicas", "2", "--epochs", "1", "--verify-every", "1",
                                        "--save", self.path / "w.weights.h5"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("6 replicas", done.stderr)
        self.assertTrue((self.path / "w.weights.h5").exists())

    def test_only_the_chief_needs_the_folders_of_outputs(self):
        def train(*folders):
            return self.run_workers(each(*([PROGRAM, *TRAIN, *SMALL, "--save", folder / "w.weights.h5", "--step-log",
                                            folder / "s.jsonl", "--trace", folder / "t.json"] for folder in folders),
                                         options=PATIENT))

        none = self.path / "none"
        done = train(self.path, none)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in "w.weights.h5", "s.jsonl", "t.json":
            self.assertTrue((self.path / name).exists(), name)
        done = train(none, self.path)
        self.assertNotEqual(done.returncode, 0)
        said = self.said_by(done.stderr)
        reason = f"--save {none}/w.weights.h5: the folder {none} does not exist"
        self.assertIn(f"lockstep: {reason}", said[0])
        self.assertRegex("".join(said[1]), f"worker 0 \\(host .*\\) failed: {re.escape(reason)}")

    def test_a_process_alone_trains_alone(self):
        done = self.run_workers([PROGRAM, *TRAIN, *SMALL, "--epochs", "1"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 replica\n", done.stderr.split(":", 1)[0] + "\n" + done.stderr.replace(":", "\n"))

    def test_tf_config_numbers_the_workers(self):
        cluster = {"worker": ["a:1", "b:1"]}
        configs = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}) for index in (1, 0)]
        done = self.run_workers(each(*(["/usr/bin/env", "TF_CONFIG=" + config, PROGRAM, *TRAIN, *SMALL, "--epochs", "1"]
                                       for config in configs)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.said_by(done.stderr)), [1])  # only the process that is task 0 prints


class Trained(Case):
    """Tests of evaluate and predict."""

    def setUp(self):
        super().setUp()
        self.model = self.path / "trained.keras"
        subprocess.run([PROGRAM, "train", *SMALL, *DATA, "--epochs", "1", "--save", self.model], check=True,
                       capture_output=True, timeout=200)

    def run_command(self, workers, name, *arguments):
        multi_worker = [*MPIRUN, "-np", str(workers), PROGRAM, name, "--strategy", "multi-worker"] if workers else None
        done = self.run_workers([*(multi_worker or [PROGRAM, name]), "--model", self.model, *DATA, *arguments])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_evaluate_gives_what_one_process_gives_and_speaks_once(self):
        done = self.run_command(3, "evaluate", "--replicas", "2", "--batch-size", "5", "--json")
        said = self.said_by(done.stdout)
        self.assertEqual([len(lines) for lines in said.values()], [1], done.stdout)
        by_workers = json.loads(said[0][0])
        expected = json.loads(self.run_command(None, "evaluate", "--json").stdout)
        self.assertAlmostEqual(by_workers["loss"], expected["loss"], delta=1e-5)
        self.assertEqual(by_workers["accuracy"], expected["accuracy"])
        self.assertEqual(list(self.said_by(done.stderr)), [0])

    def test_predict_reads_data_only_after_the_chief_has_checked_the_output(self):
        output = self.path / "none" / "p.csv"
        done = self.run_workers(each(*([PROGRAM, "predict", "--strategy", "multi-worker", "--model", self.model, "--data",
                                        data, "--output", output] for data in ("synthetic:32", "csv:none.csv")),
                                     options=PATIENT))
        self.assertNotEqual(done.returncode, 0)
        said = self.said_by(done.stderr)
        reason = f"--output {output}: the folder {output.parent} does not exist"
        self.assertIn(f"lockstep: {reason}", said[0])
        self.assertRegex("".join(said[1]), f"worker 0 \\(host .*\\) failed: {re.escape(reason)}")

    def test_predict_gives_every_example_in_the_order_of_the_data(self):
        tables = {}
        for workers in (None, 2, 3):
            tables[workers] = self.path / f"{workers}.csv"
            self.run_command(workers, "predict", "--batch-size", "5", "--output", tables[workers])
        expected, *others = [[float(line) for line in table.read_text().splitlines()[1:]] for table in tables.values()]
        self.assertEqual(len(expected), 32)
        self.assertGreater(len(set(expected)), 1)
        for predictions in others:
            for a, b in zip(predictions, expected, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-5)


class Refuse(Case):
    def refuse(self, done, *says):
        self.assertNotEqual(done.returncode, 0)
        said = self.said_by(done.stderr)
        for worker in (0, 1):
            errors = [line for line in said.get(worker, []) if line.startswith("lockstep: ")]
            self.assertEqual(len(errors), 1, done.stderr)
            for part in says:
                self.assertIn(part, errors[0])

    def with_options(self, *options):
        return self.run_workers(each(*([PROGRAM, *TRAIN, *SMALL, *of_worker] for of_worker in options)))

    def test_workers_of_other_seeds(self):
        self.refuse(self.with_options(["--seed", "1"], ["--seed", "2"]), "worker 1", "seed")

    def test_workers_of_other_models(self):
        self.refuse(self.with_options([], ["--model", "mlp"]), "worker 0", "worker 1", "the variable is")

    def test_workers_of_other_numbers_of_replicas(self):
        self.refuse(self.with_options(["--replicas", "2"], []), "number of replicas", "worker 1")

    def test_a_backup_that_only_some_workers_see(self):
        (self.path / "run0" / "backup").mkdir(parents=True)
        (self.path / "run0" / "backup" / "training_metadata.json").touch()
        weights = self.path / "w.weights.h5"
        weights.touch()
        for given in [], ["--weights", weights]:
            done = self.with_options(*(["--resume", "--checkpoint", self.path / name, *given]
                                       for name in ("run0", "run1")))
            self.refuse(done, f"--checkpoint {self.path}/run", "must be one folder for all workers",
                        "a backup on worker 0 (host ", "no backup on worker 1 (host ")

    def test_a_tf_config_of_more_workers_than_were_started(self):
        config = json.dumps({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}})
        done = self.run_workers(command(2, options=["-x", "TF_CONFIG"]), {"TF_CONFIG": config})
        self.refuse(done, "names 3 workers, and 2 processes")
        alone = self.run_workers([PROGRAM, *TRAIN, *SMALL], {"TF_CONFIG": config})
        self.assertEqual(alone.returncode, 2)
        self.assertIn("mpirun -np 3 -H a,b,c", alone.stderr)


    def test_two_processes_that_TF_CONFIG_gives_one_number(self):
        config = json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})
        self.refuse(self.run_workers(command(2, options=["-x", "TF_CONFIG"]), {"TF_CONFIG": config}), "number 0")


class Fail(Case):
    def test_a_worker_that_is_killed_is_named_by_all(self):
        launcher, workers = self.start_marked(3, options=PATIENT or ["--enable-recovery"])
        os.kill(workers[1], signal.SIGKILL)
        self.ends(launcher, (0, 2), "worker 1 (host ", "does not answer")

    def test_a_worker_that_stops_is_named_within_the_timeout(self):
        launcher, workers = self.start_marked(2, "--timeout", "10", options=PATIENT)
        os.kill(workers[1], signal.SIGSTOP)
        self.addCleanup(lambda: os.kill(workers[1], signal.SIGKILL))
        deadline = time.monotonic() + 100
        while not self.errors_of(0):
            self.assertLess(time.monotonic(), deadline, self.written())
            time.sleep(0.05)
        self.assertIn("worker 1 (host ", self.errors_of(0)[0])
        self.assertIn("has said nothing for", self.errors_of(0)[0])

    def test_a_worker_that_fails_is_named_with_its_reason(self):
        full = ["--csv", "/dev/full", "--epochs", "2"]
        done = self.run_workers(command(2, *full, options=PATIENT))
        self.assertNotEqual(done.returncode, 0)
        said = self.said_by(done.stderr)
        self.assertIn("/dev/full", "".join(said[0]))
        self.assertIn("worker 0 (host ", "".join(said[1]))


class Interrupt(Case):
    def test_ends_all_after_the_step_in_hand_and_resumes_with_another_number_of_workers(self):
        folder = ["--checkpoint", self.path / "run"]
        launcher, _ = self.start_marked(2, *folder, options=PATIENT)
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=60)
        self.assertEqual([*self.errors_of(0), *self.errors_of(1)], [])
        self.assertTrue((self.path / "run" / "backup" / "training_metadata.json").exists(), self.written())
        done = json.loads((self.path / "run" / "backup" / "training_metadata.json").read_text())
        log = self.path / "resumed.jsonl"
        epochs = done["epoch"] + 2
        resumed = self.run_workers(command(3, *folder, "--resume", "--epochs", epochs, "--step-log", log))
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(json.loads(log.read_text().splitlines()[0])["step"], done["steps"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
