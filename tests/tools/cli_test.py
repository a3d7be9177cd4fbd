"""Runs the program `lockstep` (its path is in $LOCKSTEP) as a user would."""

import csv
import fcntl
import gzip
import json
import math
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import unittest
import zipfile

PROGRAM = os.environ["LOCKSTEP"]
# A global batch of few examples: each step takes milliseconds to seconds, even if sanitized.
SYNTHETIC = ["--data", "synthetic:8", "--batch-size", "4", "--replicas", "2", "--optimizer", "sgd"]
CNN = ["--model", "small-cnn"]
TINY = [*CNN, *SYNTHETIC]
OVERFLOWS = 2**64 // 1000  # seconds that are a negative number of milliseconds in 64 bits
COMMANDS = ["devices", "doctor", "train", "evaluate", "predict", "bench", "scaling", "summary", "convert"]


def run(*arguments, timeout=500, env=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, env=env)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def succeed(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def fit(self, text):
        """Checks that every line but warnings has at most 80 columns."""
        self.assertLessEqual(max(len(line) for line in text.splitlines() if "[warning]" not in line), 80, text)

    def refuse(self, *arguments, says):
        """Checks for exit code 2, one line of error, empty standard output, and no new file."""
        before = sorted(self.path.rglob("*"))
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, done.stderr)
        self.assertEqual(sorted(self.path.rglob("*")), before)


class Devices(Case):
    def test_json_and_table(self):
        devices = json.loads(self.succeed("devices", "--json").stdout.splitlines()[-1])
        self.assertEqual(devices["physical"][0]["name"], "CPU:0")
        self.assertGreaterEqual(devices["physical"][0]["cores"], 1)
        self.assertGreater(devices["physical"][0]["memory_total"], devices["physical"][0]["memory_free"])
        gpus = [device["name"] for device in devices["physical"] if device["name"].startswith("GPU")]
        self.assertEqual([device["name"] for device in devices["logical"]], gpus or ["CPU:0", "CPU:1"])
        self.assertEqual(bool(gpus), devices["why_no_gpu"] == "")
        table = self.succeed("devices").stdout
        self.fit(table)
        self.assertIn("CPU:0", table)
        self.assertEqual("No GPU: " in table, not gpus)


class Doctor(Case):
    def test_json_and_lines(self):
        findings = json.loads(run("doctor", "--json", "--timeout", OVERFLOWS).stdout.splitlines()[-1])
        by_subject = {finding["subject"]: finding for finding in findings}
        self.assertEqual(by_subject["all-reduce"]["level"], "ok", by_subject["all-reduce"]["text"])
        self.assertTrue(all(finding["remedy"] for finding in findings if finding["level"] != "ok"))
        lines = run("doctor")
        self.assertEqual([line.split()[0] for line in lines.stdout.splitlines() if line[0] != " "],
                         [finding["level"] for finding in findings])
        self.fit(lines.stdout)
        self.assertEqual(lines.returncode, int(any(finding["level"] == "BROKEN" for finding in findings)))

    def test_json_of_a_path_that_is_not_text(self):
        mpirun = self.path / os.fsdecode(b"\xff") / "mpirun"
        mpirun.parent.mkdir()
        mpirun.write_text("#!/bin/sh\n")
        mpirun.chmod(0o755)
        done = run("doctor", "--json", env=os.environ | {"PATH": f"{mpirun.parent}:{os.environ['PATH']}"})
        for finding in json.loads(done.stdout.splitlines()[-1]):
            if finding["subject"] == "mpirun":  # a build with MPI
                self.assertIn("\ufffd/mpirun is an unknown MPI", finding["text"])


class Summary(Case):
    def test_parameter_counts(self):
        for model, params in [("efficientnet-b0", 5_330_571), ("gpt", 10_795_776), ("minigooglenet", 1_656_250),
                              ("mlp", 41_157_101), ("mobilenet-v2", 3_538_984), ("resnet50", 25_636_712),
                              ("siamese-lstm", 82_305), ("small-cnn", 42_442), ("unet", 31_049_474), ("vit", 22_049_896),
                              ("xception", 22_910_480)]:
            result = json.loads(self.succeed("summary", "--model", model, "--json").stdout.splitlines()[-1])
            self.assertEqual(result["params"], params)
            self.assertEqual(result["trainable_params"] + result["non_trainable_params"], params)
        for model in ["minigooglenet", "siamese-lstm", "xception"]:
            self.fit(self.succeed("summary", "--model", model).stdout)
        self.assertIn("1,656,250", self.succeed("summary", "--model", "minigooglenet").stdout)

    def test_precision(self):
        table = self.succeed("summary", "--model", "minigooglenet", "--precision", "mixed_bfloat16").stdout
        self.assertRegex(table, r"│ conv2d \(Conv2D, +│.*\n│ mixed_bfloat16\) ")
        self.assertIn("dense (Dense) ", table)
        self.assertNotIn("float", self.succeed("summary", "--model", "minigooglenet").stdout)

    def test_memory_of_a_step(self):
        def memory(*options):
            result = json.loads(self.succeed("summary", "--model", "minigooglenet", "--json", *options).stdout)
            return result["state_mb"], result["step_peak_mb"]

        state, peak = memory("--batch-size", "8")
        # Weights, gradients and SGD's velocities, and little more.
        variables = 1_656_250 * 4 / 1e6
        self.assertGreater(state, 2 * variables)
        self.assertLess(state, 4 * variables)
        larger_state, larger_peak = memory("--batch-size", "16")
        self.assertAlmostEqual(larger_state, state, delta=1)
        # Memory of a step for each example, besides the variables.
        self.assertAlmostEqual((larger_peak - state) / (peak - state), 2, delta=0.4)
        _, bfloat16_peak = memory("--batch-size", "16", "--precision", "mixed_bfloat16")
        self.assertLess(bfloat16_peak - state, 0.8 * (larger_peak - state))
        self.assertRegex(self.succeed("summary", "--model", "minigooglenet", "--batch-size", "4").stdout,
                         "Memory of a training step of 4 examples: .* MB at most, .* MB between steps")

    def test_help(self):
        for command in [[], *([name] for name in COMMANDS)]:
            text = self.succeed(*command, "--help").stdout
            self.assertIn("Example", text)
            self.fit(text)
            # The help of an option with a value states its default.
            for entry in re.split(r"\n(?=  --|\n)", text):
                if re.match(r"  --[a-z-]+ [A-Z]", entry):
                    self.assertRegex(entry, r"default|\(required\)")

    def test_help_has_groups_and_fits_the_terminal(self):
        text = self.succeed("train", "--help").stdout
        groups = re.findall(r"\n\n([A-Z][a-z ]+):\n(?=  -)", text)
        self.assertEqual(groups, ["Options", "Model", "Data", "Training", "Optimizer", "Loss and metrics",
                                  "Devices and replicas", "Checks", "Output"])
        plain = " ".join(text.split())
        for part in ["--epochs N passes over the data (default 1)", "--timeout SECONDS longest wait for a replica or a "
                     "worker (default 600)", "--batch-size EXAMPLES the GLOBAL batch, as in Keras' fit (default 64 per replica)",
                     "and a backup for --resume (default: none)"]:
            self.assertIn(part, plain)
        for columns in 64, 200:
            done = subprocess.run([PROGRAM, "train", "--help"], capture_output=True, text=True,
                                  env={**os.environ, "COLUMNS": str(columns)})
            described = [line for line in done.stdout.splitlines() if re.match(" {30}|  --", line)]
            self.assertTrue(columns - 20 < max(map(len, described)) <= columns, columns)


class BadCommandLine(Case):
    def test_unknown(self):
        self.refuse("train", "--modle", "mlp", says="--modle")
        self.refuse("trian", says="trian")
        self.refuse(says="subcommand")
        self.refuse("train", "--model", "vgg", says=["vgg", "efficientnet-b0, gpt,", "unet, vit or xception"])
        self.refuse("train", "--data", "imagenet", says=["imagenet", "fashion-mnist[:DIR]"])
        self.refuse("train", "--optimizer", "lion", says="lion")
        self.refuse("summary", "--model", "vgg", says="vgg")
        self.refuse("summary", "--model", "model.keras", "--batch-size", "8", says="measures only models given by name")

    def test_what_may_have_been_meant(self):
        for given, meant in [("--lr", "--learning-rate"), ("--epoch", "--epochs"), ("--batchsize", "--batch-size"),
                             ("--replica=2", "--replicas"), ("-lr", "--learning-rate"), ("-epochs=2", "--epochs")]:
            self.refuse("train", given, "1", says=f"lockstep: {given.split('=')[0]} is not an option of train; did you mean {meant}?")
        self.refuse("evaluate", "--horovod", says="lockstep: --horovod is not an option of evaluate (see --help)")
        self.refuse("train", "more", says="more")
        for command, meant in [("trian", "train"), ("evalute", "evaluate"), ("pred", "predict")]:
            self.refuse(command, says=f"convert; did you mean {meant}?")
        for option, given, meant in [("--model", "mpl", "mlp"), ("--data", "cifra10:DIR", "cifar10"), ("--optimizer", "adan", "adam"),
                                     ("--strategy", "mirored", "mirrored"), ("--precision", "bfloat16", "mixed_bfloat16")]:
            self.refuse("train", option, given, says=[option, f"'{given}'", f"; did you mean {meant}?"])
        self.refuse("scaling", "--replicas", "2", "--methods", "mirored", says="; did you mean mirrored?")

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^lockstep \d+\.\d+\.\d+\n$")

    def test_counts(self):
        for option in ["--epochs", "--batch-size", "--replicas", "--limit", "--limit-test", "--steps-per-epoch", "--timeout"]:
            for value in ["0", "-3", "two", "1.5"]:
                self.refuse("train", option, value, says=[option, value, "whole number of at least 1"])
        self.refuse("bench", "--model", "mlp", "--devices", "CPU:0", "--steps", "2", "--cuda-graphs",
                    says="cuda_graphs needs replicas on GPUs, one is on CPU:0")
        self.refuse("bench", "--steps", "0", says=["--steps", "'0'"])
        for option in "--epochs", "--replicas", "--sequence-length":
            self.refuse("train", option, 2**31, says=f"{option}: must be a whole number of at least 1 and at most 2147483647")
        self.refuse("train", "--limit", 2**63, says="--limit: must be a whole number of at least 1 and at most 9223372036854775807")
        self.refuse("scaling", *CNN, "--replicas", "2", "--batch-per-replica", 2**62,
                    says=f"--batch-per-replica {2**62}: 2 devices take at most {2**62 - 1}")
        self.refuse("bench", "--replicas", "65", says=["65", "between 1 and 64"])

    def test_values(self):
        self.refuse("train", "--learning-rate", "-1", says=["--learning-rate", "-1"])
        self.refuse("train", "--dropout", "1", says=["--dropout", "below 1"])
        for option in ["--learning-rate", "--momentum", "--weight-decay", "--clip-norm", "--dropout", "--validation-split"]:
            for value in ["", "fast", "1x"]:
                self.refuse("train", option, value, says=f"{option}: must be a number, got '{value}'")
        for option in ["--model", "--data", "--inputs", "--metrics", "--save", "--csv", "--history", "--checkpoint"]:
            self.refuse("train", option, "", says=f"{option}: has an empty value")
        self.refuse("train", "--momentum", "0.9", "--optimizer", "adam", says="--momentum belongs to")
        self.refuse("train", "--model", "mlp", "--data", "fashion-mnist", says=["has images, but the model takes (8000)"])
        self.refuse("train", "--model", "xception", "--data", "fashion-mnist", says=["but the model takes larger ones"])
        self.refuse("train", "--model", "gpt", *SYNTHETIC, "--dropout", "0.1",
                    says="--dropout is for the models minigooglenet and small-cnn, not for gpt")
        self.refuse("train", "--cross-device-ops", "ring", says=["--cross-device-ops", "ring", "hierarchical-copy"])
        self.refuse("train", "--wire-dtype", "half", says=["--wire-dtype", "half", "bfloat16"])
        self.refuse("train", "--devices", "CPU:0,CPU:0", says="named twice")
        self.refuse("train", "--devices", "TPU:0", says="TPU:0")
        self.refuse("train", "--devices", "GPU:99", says="GPU:99")

    def test_precision(self):
        for command in ["train"], ["evaluate"], ["predict", "--output", "x.csv"], ["bench"], ["scaling"]:
            self.refuse(*command, "--precision", "float16", says=["--precision", "float16", "float32", "mixed_bfloat16"])

    def test_batch_shares(self):
        for shares in ["2,x", "2,,1", "0,1", "2,-1", "fast", ","]:
            self.refuse("train", "--batch-shares", shares, says=["--batch-shares", shares, "positive numbers"])
        self.refuse("train", "--batch-shares", "3,2,1", "--replicas", "2", says=["--batch-shares", "3", "2 replica(s)"])
        for shares in "2,1", "auto":
            self.refuse("train", "--strategy", "multi-gpu-model", "--replicas", "2", "--batch-shares", shares,
                        says=f"--batch-shares {shares}: --strategy multi-gpu-model has equal shares")

    def test_more_replicas_than_examples(self):
        self.refuse("train", "--data", "synthetic:3", "--replicas", "4", says=["4 replicas", "3"])
        self.refuse("bench", "--batch-size", "1", "--replicas", "2", says=["--batch-size", "2 replicas"])


class BadData(Case):
    """Missing or damaged Fashion-MNIST files in a small data set that is otherwise valid."""

    def write(self, images=None, labels=None):
        good_images = struct.pack(">IIII", 2051, 8, 28, 28) + bytes(8 * 28 * 28)
        good_labels = struct.pack(">II", 2049, 8) + bytes(range(8))
        for split in ["train", "t10k"]:
            for kind, good, bad in [("images-idx3", good_images, images), ("labels-idx1", good_labels, labels)]:
                content = gzip.compress(good)
                if bad is not None and split == "train":
                    content = bad
                (self.path / f"{split}-{kind}-ubyte.gz").write_bytes(content)

    def refuse_data(self, says):
        self.refuse("train", "--data", f"fashion-mnist:{self.path}", "--batch-size", "4", says=says)

    def test_missing(self):
        self.refuse("train", "--data", f"fashion-mnist:{self.path}/none", says=f"{self.path}/none")
        self.write()
        (self.path / "train-labels-idx1-ubyte.gz").unlink()
        self.refuse_data("train-labels-idx1-ubyte")

    def test_damaged(self):
        images = struct.pack(">IIII", 2051, 8, 28, 28) + bytes(8 * 28 * 28)
        cases = [
            ({"images": gzip.compress(images)[:-12]}, "train-images-idx3-ubyte"),
            ({"images": gzip.compress(struct.pack(">I", 1234) + images[4:])}, "train-images-idx3-ubyte"),
            ({"images": gzip.compress(images[:-1])}, "train-images-idx3-ubyte"),
            ({"images": gzip.compress(images + b"x")}, "train-images-idx3-ubyte"),
            ({"images": b"no gzip at all"}, "train-images-idx3-ubyte"),
            ({"labels": gzip.compress(struct.pack(">II", 2049, 8) + bytes([0, 1, 2, 3, 4, 5, 6, 10]))}, "10"),
            ({"labels": gzip.compress(struct.pack(">II", 2049, 7) + bytes(7))}, "7"),
        ]
        for damage, says in cases:
            self.write(**damage)
            self.refuse_data(says)

    def test_good_files_of_this_kind_are_taken(self):
        self.write()
        self.succeed("train", "--data", f"fashion-mnist:{self.path}", "--batch-size", "4", "--epochs", "1")

    def test_cifar10(self):
        self.refuse("train", "--data", "cifar10", says="cifar10:DIR")
        self.refuse("train", "--data", f"cifar10:{self.path}", says="data_batch_1.bin")
        records = b"".join(bytes([label]) + bytes(range(256)) * 12 for label in range(8))
        (self.path / "test_batch.bin").write_bytes(records)
        whole_file = gzip.compress(records + bytes(3073) * (10_000 - 8), 1)  # the mean is that of all training images
        for number in range(1, 6):
            (self.path / f"data_batch_{number}.bin.gz").write_bytes(whole_file)
        command = ["train", "--data", f"cifar10:{self.path}", "--batch-size", "4", "--epochs", "1", "--limit", "8"]
        self.succeed(*command, "--limit-test", "8")
        self.refuse(*command, says=["test_batch.bin", "record 8"])


class BadOutput(Case):
    def redirected(self, redirection, *arguments):
        """Runs the program in a shell that redirects its streams."""
        return subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', PROGRAM, *map(str, arguments)],
                              capture_output=True, text=True, timeout=500)

    def test_standard_output_that_cannot_be_written(self):
        for redirection in ">/dev/full", ">&-":
            for command in ["devices", "--json"], ["summary", *CNN, "--json"], ["train", "--help"]:
                done = self.redirected(redirection, *command)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, "^lockstep: .*\n$")

    def test_standard_error_that_cannot_be_written(self):
        for name, redirection in ("closed", "2>&-"), ("full", "2>/dev/full"):
            weights = self.path / f"{name}.weights.h5"
            done = self.redirected(redirection, "train", *TINY, "--save", weights, "--json")
            self.assertEqual(done.returncode, 0, name)
            json.loads(done.stdout.splitlines()[-1])
            self.assertTrue(weights.exists(), name)
            self.assertEqual(self.redirected(redirection, "trian").returncode, 2)

    def test_standard_error_whose_reader_has_ended(self):
        read, write = os.pipe()
        os.close(read)
        weights = self.path / "w.weights.h5"
        done = subprocess.run([PROGRAM, "train", *TINY, "--save", weights], stderr=write, timeout=500)
        os.close(write)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(weights.exists())

    def with_gnuplot(self, script, *arguments):
        """Runs the program with a shell script in the place of gnuplot."""
        gnuplot = self.path / "bin" / "gnuplot"
        gnuplot.parent.mkdir(exist_ok=True)
        gnuplot.write_text(f"#!/bin/sh\n{script}\n")
        gnuplot.chmod(0o755)
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=500,
                              env={**os.environ, "PATH": f"{gnuplot.parent}:{os.environ['PATH']}"})

    def test_a_plot_that_fails_keeps_no_other_output_from_being_written(self):
        plot = self.path / "p.png"
        names = {"--save": "w.weights.h5", "--history": "h.json", "--trace": "t.json"}
        outputs = [part for option, name in names.items() for part in (option, self.path / name)]
        done = self.with_gnuplot("exit 3", "train", *TINY, "--plot", plot, "--json", *outputs)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(json.loads((self.path / "h.json").read_text()), json.loads(done.stdout))
        self.assertIn("traceEvents", json.loads((self.path / "t.json").read_text()))
        lines = done.stderr.splitlines()
        self.assertEqual(lines[-1],
                         f"lockstep: --plot {plot}: gnuplot could not write it (exit status 3); is the disk full?")
        self.assertEqual([line.split(":")[0] for line in lines[-4:-1]], [f"wrote {self.path / name}" for name in names.values()])
        self.assertFalse(plot.exists())
        scaling = self.with_gnuplot("exit 3", "scaling", "--model", "siamese-lstm", "--replicas", "2",
                                    "--batch-per-replica", "2", "--rounds", "1", "--steps", "1", "--warmup", "0", "--plot",
                                    plot, "--json")
        self.assertEqual(scaling.returncode, 2, scaling.stderr)
        self.assertEqual(len(json.loads(scaling.stdout)["weak"]), 4)

    def test_found_before_training(self):
        for option, name in [("--history", "h.json"), ("--step-log", "s.jsonl"), ("--csv", "c.csv"), ("--plot", "p.png"),
                             ("--save", "w.weights.h5"), ("--trace", "t.json")]:
            self.refuse("train", *TINY, option, self.path / "none" / name, says=[option, f"{self.path}/none"])
        for command in ["train"], ["scaling", "--replicas", "2"]:
            self.refuse(*command, "--plot", self.path / "x.jpg", says=[f"--plot {self.path}/x.jpg", "must end in .png"])
        self.refuse("train", *TINY, "--history", self.path, says="is a folder")
        for option, name in [("--history", "h.json"), ("--trace", "t.json"), ("--plot", "p.png"), ("--save", "w.keras")]:
            os.mkfifo(self.path / name)
            self.refuse("train", *TINY, option, self.path / name, says=[f"{option} {self.path / name}", "not a regular file"])
        for option in "--history", "--step-log", "--csv", "--trace":
            self.refuse("train", *TINY, option, self.path / ("x" * 300), says=[option, "File name too long"])
        for option in "--checkpoint", "--tensorboard":
            self.refuse("train", *TINY, option, self.path / ("x" * 300), says=[f"{option} {self.path}/x", "File name too long"])
            self.refuse("train", *TINY, option, self.path / "w.keras", says=[f"{option} {self.path}/w.keras: is not a folder"])
        self.refuse("train", "--data", f"images:{self.path}/{'x' * 300}", says=["--data images:", "there is no such folder"])
        self.refuse("train", *TINY, "--save", self.path / "w.bin", says=".weights.h5")
        self.refuse("train", *TINY, "--weights", self.path / "none.weights.h5", says="none.weights.h5")

    def test_a_format_that_cannot_hold_the_model(self):
        done = run("train", "--model", "gpt", "--data", "synthetic:2", "--batch-size", "2",
                   "--replicas", "2", "--save", self.path / "gpt.h5")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "^lockstep: operation '.*: .h5 files of whole models hold layers alone; save as .keras\n$")

    def test_one_file_for_two_options(self):
        file, again = self.path / "a.json", f"{self.path}/./a.json"
        for first, second in ("--history", "--trace"), ("--step-log", "--csv"), ("--history", "--csv"):
            self.refuse("train", *TINY, first, file, second, again,
                        says=f"{second} {again}: is also the file of {first}; give each a name of its own")
        file.touch()
        (self.path / "link.json").symlink_to(file)
        self.refuse("train", *TINY, "--csv", file, "--step-log", self.path / "link.json", says=["--csv", "--step-log"])
        best = self.path / "best.weights.h5"
        self.refuse("train", *TINY, "--checkpoint", self.path, "--save", best,
                    says=f"--save {best}: is also the file of --checkpoint; give each a name of its own")

    def test_a_weights_file_without_weights(self):
        (self.path / "w.weights.h5").write_bytes(b"not HDF5")
        self.refuse("train", *TINY, "--weights", self.path / "w.weights.h5", says="w.weights.h5")


class Training(Case):
    def test_the_trace_has_layers_gradients_and_phases_of_every_replica(self):
        self.succeed("train", "--model", "siamese-lstm", *SYNTHETIC, "--trace", self.path / "t.json")
        events = json.loads((self.path / "t.json").read_text())["traceEvents"]
        rows = {event["args"]["name"]: event["tid"] for event in events if event["ph"] == "M"}
        self.assertEqual(sorted(rows), ["outside of replicas", "replica 0", "replica 1"])
        for replica in ["replica 0", "replica 1"]:
            spans = [event for event in events if event["tid"] == rows[replica] and event["ph"] == "X"]
            names = [span["name"] for span in spans]
            for name in ["compute", "update", "lstm", "dense", "gradient of lstm"]:
                self.assertIn(name, names)
            self.assertEqual(names.count("lstm"), 4)  # two sequences in each of two steps
            self.assertTrue(all(span["dur"] > 0 and span["ts"] > 0 for span in spans))

    def test_all_results(self):
        names = {"history": "h.json", "step-log": "s.jsonl", "plot": "p.png", "save": "w.weights.h5"}
        outputs = [part for option, name in names.items() for part in (f"--{option}", str(self.path / name))]
        done = self.succeed("train", *TINY, "--epochs", "2", "--verify-every", "1", "--schedule", "poly",
                            "--learning-rate", "0.01", "--json", *outputs)
        self.assertNotIn("\r", done.stderr)  # not a terminal: plain lines
        self.assertEqual(done.stderr.count("Epoch "), 2)
        history = json.loads((self.path / "h.json").read_text())
        self.assertEqual(history, json.loads(done.stdout.splitlines()[-1]))
        for name in ["loss", "accuracy", "learning_rate", "epoch_s", "examples_per_s"]:
            self.assertEqual(len(history[name]), 2, name)
        self.assertAlmostEqual(history["learning_rate"][0], 0.01)
        self.assertAlmostEqual(history["learning_rate"][1], 0.005)
        self.assertGreater(history["time_to_first_step_s"], 0)
        self.assertGreater(history["peak_memory_mb"], 1)
        steps = [json.loads(line) for line in (self.path / "s.jsonl").read_text().splitlines()]
        self.assertEqual([step["step"] for step in steps], [0, 1, 2, 3])
        self.assertEqual([step["examples"] for step in steps], [4, 4, 4, 4])
        for step in steps:
            parts = sum(step[f"{part}_ms"] for part in ["input", "compute", "reduce", "update"])
            self.assertLessEqual(parts, step["step_ms"] * 1.01)
            self.assertGreater(step["compute_ms"], 0)
        self.assertEqual((self.path / "p.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(sorted(self.path.iterdir()), sorted(self.path / name for name in names.values()))
        written = [line for line in done.stderr.splitlines() if line.startswith("wrote ")]
        self.assertEqual(done.stderr.splitlines()[-len(names):], written)
        for name in names.values():
            self.assertEqual(sum(line.startswith(f"wrote {self.path / name}: the ") or f"{name}: a JSON object" in line
                                 for line in written), 1, written)
        self.assertNotIn("not kept", done.stderr)
        self.succeed("train", *TINY, "--epochs", "1", "--weights", self.path / "w.weights.h5")

    def test_names_with_special_characters(self):
        folder = self.path / "a\n1\"2\" 'c' `d` \\e {epoch} {f"
        folder.mkdir()
        names = {"--save": "m.keras", "--history": "h.json", "--step-log": "s.jsonl", "--csv": "c.csv",
                 "--trace": "t.json", "--plot": "p.png", "--checkpoint": "run", "--tensorboard": "events"}
        self.succeed("train", *TINY, *(part for option, name in names.items() for part in (option, folder / name)))
        # The names of the model and of the plot are as long as file names may be.
        model, plot = folder / ("m" * 249 + ".keras"), folder / ("p" * 251 + ".png")
        (folder / "m.keras").rename(model)
        self.succeed("train", "--model", model, *SYNTHETIC, "--plot", plot)  # its title names the model
        self.assertTrue(plot.read_bytes().startswith(b"\x89PNG"))
        self.assertEqual(sorted(file.name for file in folder.iterdir()),
                         sorted({*names.values(), model.name, plot.name} - {"m.keras"}))
        self.assertEqual(sorted(file.name for file in (folder / "run").iterdir()),
                         ["backup", "best.weights.h5", "last.weights.h5"])

    def test_early_stopping(self):
        # The learning rate is so large that the first epoch is the best.
        done = self.succeed("train", *TINY, "--learning-rate", "5", "--epochs", "9", "--early-stopping", "2", "--history",
                            self.path / "h.json")
        self.assertEqual(len(json.loads((self.path / "h.json").read_text())["loss"]), 3)
        self.assertIn("--early-stopping: loss has not improved for 2 epoch(s); stopped after epoch 3 of 9\n", done.stderr)
        self.assertIn("the trained weights are not kept; --save FILE writes them\n", done.stderr)
        tested = self.succeed("train", "--data", "fashion-mnist", "--limit", "8", "--limit-test", "4", "--batch-size", "4",
                              "--learning-rate", "5", "--epochs", "9", "--early-stopping", "1")
        self.assertIn("--early-stopping: val_loss has not improved for 1 epoch(s); stopped after epoch ", tested.stderr)
        self.assertNotIn("-nan", done.stderr + tested.stderr)
        self.refuse("train", *TINY, "--epochs", "3", "--early-stopping", "2",
                    says="--early-stopping 2: cannot end a training of 3 epoch(s) early; give --epochs 4 or more")
        self.refuse("train", *TINY, "--early-stopping", 2**31 - 3, says=f"give --epochs {2**31 - 1} or more")
        self.refuse("train", *TINY, "--epochs", 2**31 - 1, "--early-stopping", 2**31 - 2,
                    says=f"--early-stopping: must be a whole number of at least 1 and at most {2**31 - 3}")

    def test_resume_after_early_stopping(self):
        # Its loss does not fall in the first five epochs.
        run = ("train", "--model", "minigooglenet", *SYNTHETIC, "--learning-rate", "5", "--checkpoint", self.path / "c",
               "--csv", self.path / "h.csv")
        stopping = ("--epochs", "9", "--early-stopping", "2")
        self.succeed(*run, *stopping)
        again = self.succeed(*run, *stopping, "--resume")
        self.assertIn(f"--resume: the run in {self.path / 'c'} is complete; --early-stopping ended it after epoch 3\n",
                      again.stderr)
        self.assertEqual(len((self.path / "h.csv").read_text().splitlines()), 1 + 3)
        longer = self.succeed(*run, "--epochs", "9", "--early-stopping", "4", "--resume")
        self.assertIn("not improved for 4 epoch(s); stopped after epoch 5 of 9\n", longer.stderr)
        self.succeed(*run, "--epochs", "7", "--resume")
        self.assertEqual(len((self.path / "h.csv").read_text().splitlines()), 1 + 7)

    def test_two_inputs(self):
        weights = self.path / "w.weights.h5"
        self.succeed("train", "--model", "siamese-lstm", *SYNTHETIC, "--save", weights)
        self.succeed("train", "--model", "siamese-lstm", *SYNTHETIC, "--weights", weights)

    def test_resnet50_of_small_images(self):
        self.succeed("train", "--model", "resnet50", "--data", "fashion-mnist", "--limit", "4", "--limit-test", "2",
                     "--batch-size", "4", "--replicas", "2")

    def test_small_cnn_learns_at_once(self):
        self.succeed("train", "--model", "small-cnn", "--data", "fashion-mnist", "--limit", "2048", "--limit-test", "256",
                     "--batch-size", "32", "--optimizer", "adam", "--dropout", "0.2", "--history", self.path / "h.json")
        self.assertGreater(json.loads((self.path / "h.json").read_text())["val_accuracy"][0], 0.6)

    def test_batch_shares(self):
        def rows(shares):
            self.succeed("train", *TINY, "--batch-shares", shares, "--step-log", self.path / "s.jsonl")
            return [json.loads(line)["rows"] for line in (self.path / "s.jsonl").read_text().splitlines()]

        self.assertEqual(rows("3,1"), [[3, 1], [3, 1]])
        self.assertEqual(rows("auto"), [[2, 2], [2, 2]])  # the measuring steps

    def test_cache_on_devices_changes_nothing_else(self):
        def losses(*options):
            self.succeed("train", "--model", "small-cnn", "--data", "fashion-mnist", "--limit", "60", "--limit-test", "8",
                         "--batch-size", "16", "--replicas", "2", "--epochs", "2", "--augment", "--step-log",
                         self.path / "s.jsonl", *options)
            return [json.loads(line)["loss"] for line in (self.path / "s.jsonl").read_text().splitlines()]

        self.assertEqual(losses("--cache-on-devices"), losses())
        self.assertEqual(losses("--cache-on-devices", "--batch-shares", "3,1"), losses("--batch-shares", "3,1"))

    def test_same_seed_same_losses(self):
        def losses(name, seed):
            self.succeed("train", *TINY, "--seed", seed, "--step-log", self.path / name)
            return [json.loads(line)["loss"] for line in (self.path / name).read_text().splitlines()]

        first = losses("a", 1)
        self.assertEqual(first, losses("b", 1))
        self.assertNotEqual(first, losses("c", 2))

    def test_check_numerics(self):
        done = run("train", *TINY, "--learning-rate", "1e30", "--epochs", "3", "--check-numerics")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"^lockstep: replica [01] \(.*\): step [1-5]: the gradient of '.+' \(.*\) is -?(nan|inf) at element \d+$")

    def test_cross_device_ops(self):
        def losses(name):
            self.succeed("train", *TINY, "--cross-device-ops", name, "--step-log", self.path / name,
                         "--timeout", OVERFLOWS)
            return [json.loads(line)["loss"] for line in (self.path / name).read_text().splitlines()]

        # Both replicas add the two values in the same order.
        for name in ["shared-memory", "hierarchical-copy", "reduction-to-one-device"]:
            self.assertEqual(losses(name), losses("auto"), name)
        done = run("train", *TINY, "--cross-device-ops", "nccl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'nccl' combine the values of GPU replicas", done.stderr)
        done = run("train", *TINY, "--wire-dtype", "bfloat16")
        self.assertEqual(done.returncode, 1)
        self.assertIn("by nccl between several GPUs that have a replica each, not as bf16 between [CPU:0, CPU:1]",
                      done.stderr)

    def test_deterministic(self):
        for name in ["a.safetensors", "b.safetensors"]:
            self.succeed("train", *TINY, "--deterministic", "--dropout", 0.5, "--save", self.path / name)
        self.assertEqual((self.path / "a.safetensors").read_bytes(), (self.path / "b.safetensors").read_bytes())


class Terminal(Case):
    def shown_by(self, *arguments, exit_code=0, columns=80):
        """The program's output to a terminal with that many columns."""
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], stderr=other, stdout=subprocess.DEVNULL)
        os.close(other)
        shown = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the program has closed its end
                break
            if not part:
                break
            shown += part
        os.close(main)
        self.assertEqual(process.wait(), exit_code)
        return shown.decode()

    def test_progress_bar(self):
        text = self.shown_by("train", *TINY, "--epochs", "1")
        self.assertIn("Epoch 1/1", text)
        self.assertIn("\r\x1b[K2/2 ━━━━", text)

    def test_progress_fits_the_terminal(self):
        file = self.path / "data.h5"
        subprocess.run([os.environ["WRITE_HDF5"], file], check=True)
        metrics = ["accuracy", "sparse_categorical_accuracy", "sparse_top_k_categorical_accuracy"]
        values = ["loss", *metrics, "val_loss", *(f"val_{name}" for name in metrics)]
        for columns in 80, 50, 200:
            text = self.shown_by("train", "--data", f"hdf5:{file}", "--batch-size", "4", "--epochs", "1", "--loss",
                                 "sparse_categorical_crossentropy", "--from-logits", "--metrics", *metrics, columns=columns)
            lines = re.split(r"\r?\n|\r\x1b\[K", text[text.index("Epoch 1/1"):text.index("the trained weights")])
            self.assertLess(max(map(len, lines)), columns, text)
            self.assertTrue(any(line.startswith("3/3 ") and "eta" in line for line in lines), text)
            end = [line for line in lines if "eta" not in line]
            shown = re.findall(r"(\w+): \d+\.\d{4}(?= - |\n|$)", "\n".join(end))
            self.assertEqual(sorted(shown), sorted(values), text)
            self.assertEqual([name.startswith("val_") for name in shown], [False] * 4 + [True] * 4, text)

    def test_warnings_and_failures_have_a_line_of_their_own(self):
        # The loss becomes infinite after a step that takes long enough to be shown.
        train = ["train", "--data", "synthetic:192", "--batch-size", "64", "--learning-rate", "1e30"]
        for more, exit_code, begins in ([], 0, "[20"), (["--check-numerics"], 1, "lockstep: "):
            lines = re.split(r"\r?\n|\r\x1b\[K", self.shown_by(*train, *more, exit_code=exit_code))
            self.assertTrue(any(line.startswith("1/3 ━") for line in lines), lines)
            about = [line for line in lines if "] the loss of step" in line or "the gradient of" in line]
            self.assertTrue(about and all(line.startswith(begins) for line in about), lines)


class Interrupt(Case):
    def test_ends_the_step_in_hand_and_writes_what_was_asked_for(self):
        log = self.path / "s.jsonl"
        process = subprocess.Popen(
            [PROGRAM, "train", *TINY, "--epochs", "100000", "--step-log", log, "--history", self.path / "h.json"],
            stderr=subprocess.PIPE, text=True)
        while not (log.exists() and log.read_text().count("\n") >= 2):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130)
        for line in log.read_text().splitlines():
            json.loads(line)
        json.loads((self.path / "h.json").read_text())


class Checkpoint(Case):
    def test_an_interrupted_run_resumes_to_the_same_weights(self):
        log = self.path / "s.jsonl"
        arguments = [PROGRAM, "train", *TINY, "--epochs", "40"]
        outputs = ["--csv", self.path / "log.csv", "--history", self.path / "h.json", "--trace", self.path / "t.json"]
        subprocess.run([*arguments, "--save", self.path / "straight.weights.h5", "--step-log", log], check=True,
                       capture_output=True)
        straight = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        log.unlink()
        folder = self.path / "run"
        process = subprocess.Popen([*arguments, *outputs, "--checkpoint", folder, "--step-log", log],
                                   stderr=subprocess.DEVNULL)
        while not (log.exists() and log.read_text().count("\n") >= 5):
            self.assertIsNone(process.poll())
        self.assertIsNone(process.poll(), "the run has ended before it is interrupted")
        process.kill()
        process.wait(timeout=300)
        self.refuse("train", *TINY, "--checkpoint", folder, says=[f"--checkpoint {folder}: ", "add --resume"])
        (folder / ".lockstep-999999999-0.tmp").write_text("half a fi")  # as if it was killed while it wrote weights
        subprocess.run([*arguments, *outputs, "--checkpoint", folder, "--resume", "--step-log", log, "--save",
                        self.path / "resumed.weights.h5"], check=True, capture_output=True)
        steps = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([step["step"] for step in steps], list(range(80)))
        self.assertEqual([step["loss"] for step in steps], straight)
        with (self.path / "log.csv").open() as lines:
            self.assertEqual([int(row["epoch"]) for row in csv.DictReader(lines)], list(range(40)))
        self.assertEqual(json.loads((self.path / "h.json").read_text())["epoch"], list(range(40)))
        self.assertEqual((self.path / "resumed.weights.h5").read_bytes(),
                         (self.path / "straight.weights.h5").read_bytes())
        self.assertEqual(sorted(file.name for file in folder.iterdir()), ["backup", "best.weights.h5", "last.weights.h5"])
        self.assertEqual((folder / "last.weights.h5").read_bytes(), (self.path / "straight.weights.h5").read_bytes())

    def test_keeps_the_weights_of_the_best_epoch(self):
        # The learning rate is so large that the first epoch is the best.
        self.succeed("train", *TINY, "--epochs", "2", "--learning-rate", "5", "--checkpoint", self.path / "run",
                     "--history", self.path / "h.json")
        history = json.loads((self.path / "h.json").read_text())
        self.assertLess(history["loss"][0], history["loss"][1])
        self.succeed("train", *TINY, "--epochs", "1", "--learning-rate", "5", "--save", self.path / "first.weights.h5")
        self.assertEqual((self.path / "run" / "best.weights.h5").read_bytes(),
                         (self.path / "first.weights.h5").read_bytes())

    def test_a_resumed_run_adds_to_the_trace(self):
        log = self.path / "s.jsonl"
        train = ["train", "--model", "siamese-lstm", "--data", "synthetic:64", "--batch-size", "4", "--replicas", "2",
                 "--checkpoint", self.path / "run", "--trace", self.path / "t.json", "--step-log", log]
        process = subprocess.Popen([PROGRAM, *map(str, train)], stderr=subprocess.DEVNULL)
        while not (log.exists() and log.read_text()):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=300), 130)
        self.succeed(*train, "--resume")
        events = json.loads((self.path / "t.json").read_text())["traceEvents"]
        # Two replicas run two sequences in each of sixteen steps, in one process or the other.
        self.assertEqual(sum(event["name"] == "lstm" for event in events), 64)
        self.assertEqual({event["pid"] for event in events}, {0, 1})
        again = self.succeed(*train, "--resume")
        self.assertEqual(json.loads((self.path / "t.json").read_text())["traceEvents"], events, "a run that is complete")
        self.assertNotIn("t.json", again.stderr)

    def test_a_resumed_run_keeps_what_other_programs_wrote(self):
        train = ["train", *TINY, "--checkpoint", self.path / "run"]
        self.succeed(*train)
        trace, log = self.path / "t.json", self.path / "s.jsonl"
        theirs = [{"name": "a", "pid": "x"}, {"name": "b", "pid": 2**40}, {"name": "c", "pid": 4}]
        trace.write_text(json.dumps({"traceEvents": [7, *theirs]}))
        log.write_text('{"step":"first"}\n')
        self.succeed(*train, "--resume", "--epochs", "2", "--trace", trace, "--step-log", log)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual([event for event in events if event in theirs], theirs)
        self.assertEqual({event["pid"] for event in events if event not in theirs}, {5})
        self.assertEqual([json.loads(line)["step"] for line in log.read_text().splitlines()], ["first", 2, 3])

    def test_a_complete_run_is_left_as_it_is_or_continues_to_more_epochs(self):
        run_folder = self.path / "run"
        # The learning rate is so large that the first epoch is the best.
        arguments = ["train", *TINY, "--learning-rate", "5", "--checkpoint", run_folder]
        first = self.succeed(*arguments, "--epochs", "2", "--resume")
        self.assertIn(f"--resume: {run_folder} has no backup; training starts from the beginning", first.stderr)
        best, last = ((run_folder / f"{name}.weights.h5").read_bytes() for name in ["best", "last"])
        self.assertNotEqual(best, last)
        self.refuse(*arguments, says=[str(run_folder), "add --resume"])
        again = self.succeed(*arguments, "--epochs", "2", "--resume", "--save", self.path / "end.weights.h5")
        self.assertIn("complete after 2 epochs; increase --epochs", again.stderr)
        self.assertEqual((run_folder / "last.weights.h5").read_bytes(), last)
        self.assertEqual((self.path / "end.weights.h5").read_bytes(), last)
        self.succeed(*arguments, "--epochs", "3", "--resume", "--history", self.path / "h.json")
        losses = json.loads((self.path / "h.json").read_text())["loss"]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[0], losses[2])
        self.assertEqual((run_folder / "best.weights.h5").read_bytes(), best)
        self.assertNotEqual((run_folder / "last.weights.h5").read_bytes(), last)

    def test_a_resumed_run_takes_the_learning_rate_that_is_given(self):
        arguments = ["train", *TINY, "--checkpoint", self.path / "run", "--history", self.path / "h.json"]

        def rates(*more):
            self.succeed(*arguments, "--resume", *more)
            return json.loads((self.path / "h.json").read_text())["learning_rate"]

        self.assertEqual(rates("--epochs", "1", "--learning-rate", "0.01"), [0.01])
        self.assertEqual(rates("--epochs", "2", "--learning-rate", "0.001"), [0.01, 0.001])
        self.assertEqual(rates("--epochs", "3"), [0.01, 0.001, 0.001])
        self.assertEqual(rates("--epochs", "4", "--learning-rate", "0.1", "--schedule", "step")[3], 0.001)

    def test_a_resumed_run_keeps_its_weights_and_its_seed(self):
        start = self.path / "start.weights.h5"
        self.succeed("train", *TINY, "--seed", "5", "--learning-rate", "0.5", "--save", start)
        run_folder = self.path / "run"
        arguments = ["train", *TINY, "--weights", start, "--checkpoint", run_folder, "--resume", "--seed", "3"]
        first = self.succeed(*arguments, "--epochs", "1")
        self.assertNotIn("--weights", first.stderr)
        again = self.succeed(*arguments, "--epochs", "2", "--save", self.path / "resumed.weights.h5")
        self.assertIn(f"--resume: the run in {run_folder} continues with its own weights; --weights {start} is not read",
                      again.stderr)
        self.succeed(*arguments[:-5], "--seed", "3", "--epochs", "2", "--save", self.path / "straight.weights.h5")
        self.assertEqual((self.path / "resumed.weights.h5").read_bytes(),
                         (self.path / "straight.weights.h5").read_bytes())
        for seed in [], ["--seed", "4"]:
            done = run("train", *TINY, "--checkpoint", run_folder, "--resume", "--epochs", "3", *seed)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--seed {seed[-1] if seed else 0}: the run to resume has the seed 3; use that one", done.stderr)

    def test_a_run_killed_while_it_wrote_its_first_backup_begins_anew(self):
        start, run_folder = self.path / "start.weights.h5", self.path / "run"
        self.succeed("train", *TINY, "--learning-rate", "0.5", "--save", start)
        (run_folder / "backup").mkdir(parents=True)
        (run_folder / "backup" / "state-1-2.h5").write_text("half a fi")
        arguments = ["train", *TINY, "--weights", start]
        done = self.succeed(*arguments, "--checkpoint", run_folder, "--resume", "--save", self.path / "again.weights.h5")
        self.assertIn(f"--resume: {run_folder} has no backup; training starts from the beginning", done.stderr)
        self.assertNotIn("is not read", done.stderr)
        self.succeed(*arguments, "--save", self.path / "straight.weights.h5")
        self.assertEqual((self.path / "again.weights.h5").read_bytes(),
                         (self.path / "straight.weights.h5").read_bytes())

    def test_resume_needs_a_checkpoint(self):
        self.refuse("train", *TINY, "--resume", says="--checkpoint")


class Updates(Case):
    def history(self, *arguments):
        self.succeed("train", *TINY, *arguments, "--history", self.path / "h.json")
        return json.loads((self.path / "h.json").read_text())

    def test_optimizers(self):
        losses = {name: self.history("--epochs", "2", "--optimizer", name)["loss"][1]
                  for name in ["sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb"]}
        # AdamW differs from Adam only by a weight decay, which hardly shows in two epochs.
        self.assertEqual(len(set(losses.values())), len(losses), losses)

    def test_decay_and_clipping(self):
        plain = self.history("--epochs", "2")["loss"]
        for option, value in ("--weight-decay", "5"), ("--clip-norm", "1e-3"), ("--momentum", "0.9"):
            changed = self.history("--epochs", "2", option, value)["loss"]
            self.assertNotEqual(changed[1], plain[1], option)

    def test_schedules(self):
        expected = {"constant": [1, 1, 1, 1], "poly": [1, 0.75, 0.5, 0.25], "step": [1, 1, 0.1, 0.01],
                    "cosine": [1, 0.5 + 0.125 ** 0.5, 0.5, 0.5 - 0.125 ** 0.5]}
        for name, shares in expected.items():
            rates = self.history("--epochs", "4", "--steps-per-epoch", "1", "--learning-rate", "0.01", "--schedule",
                                 name)["learning_rate"]
            for rate, share in zip(rates, shares, strict=True):
                self.assertAlmostEqual(rate, 0.01 * share, msg=name)
        # A number of epochs that another condition ends.
        log = self.path / "s.jsonl"
        done = run("train", *TINY, "--epochs", "1000000000", "--learning-rate", "1e30", "--schedule", "step",
                   "--check-numerics", "--step-log", log)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(log.read_text().splitlines()[0])["learning_rate"], 1e30)

    def test_refuses_what_does_not_fit(self):
        self.refuse("train", "--optimizer", "adam", "--momentum", "0.9", says="--momentum belongs to")
        self.refuse("train", "--weight-decay", "-1", says="--weight-decay: must be")
        self.refuse("train", "--clip-norm", "-1", says="--clip-norm: must be")


class Strategies(Case):
    def losses(self, *arguments):
        self.succeed("train", *TINY, "--dropout", "0", "--learning-rate", "0.01", *arguments, "--step-log",
                     self.path / "s.jsonl")
        return [json.loads(line)["loss"] for line in (self.path / "s.jsonl").read_text().splitlines()]

    def test_all_give_the_same_losses(self):
        expected = self.losses()
        for name in ["central-storage", "multi-gpu-model"]:
            for a, b in zip(self.losses("--strategy", name), expected, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-4, msg=name)

    def test_one_device(self):
        arguments = ["train", "--data", "synthetic:8", "--batch-size", "4"]
        for name, extra in ("a", ["--strategy", "one-device"]), ("b", ["--replicas", "1"]):
            self.succeed(*arguments, *extra, "--step-log", self.path / name)
        losses = [[json.loads(line)["loss"] for line in (self.path / name).read_text().splitlines()] for name in "ab"]
        self.assertEqual(losses[0], losses[1])
        self.refuse(*arguments, "--strategy", "one-device", "--replicas", "2", says="takes one device, got 2")
        self.refuse(*arguments, "--strategy", "central-storage", "--cross-device-ops", "shared-memory",
                    says="is for --strategy mirrored")
        self.refuse(*arguments, "--strategy", "central-storage", "--wire-dtype", "bfloat16",
                    says="is for --strategy mirrored and multi-worker")


class Convert(Case):
    SMALL = ["--model", "siamese-lstm"]

    def train(self, name):
        self.succeed("train", *self.SMALL, *SYNTHETIC[:-2], "--optimizer", "adam", "--save", self.path / name)
        return self.path / name

    def convert(self, start, *names):
        """Converts each file to the next; returns the last path."""
        for name in names:
            weights = start.name.endswith((".weights.h5", ".safetensors"))
            self.succeed("convert", *(self.SMALL if weights else []), start, self.path / name)
            start = self.path / name
        return start

    def test_weights_go_through_all_formats(self):
        start = self.train("start.weights.h5")
        end = self.convert(start, "a.safetensors", "b.h5", "c.keras", "d.h5", "e.weights.h5", "f.keras", "g.weights.h5")
        self.assertEqual(end.read_bytes(), start.read_bytes())
        self.convert(self.path / "d.h5", "h.safetensors")
        self.assertEqual((self.path / "h.safetensors").read_bytes(), (self.path / "a.safetensors").read_bytes())
        self.assertNotEqual((self.path / "a.safetensors").read_bytes(), start.read_bytes())

    def test_whole_models_keep_what_training_resumes_from(self):
        start = self.train("start.keras")
        end = self.convert(start, "a.h5", "end.keras")
        with zipfile.ZipFile(start) as before, zipfile.ZipFile(end) as after:
            self.assertIn("optimizer", before.read("config.json").decode())
            for name in ["config.json", "model.weights.h5"]:  # the optimizer's moments are in the second file
                self.assertEqual(after.read(name), before.read(name), name)

    def test_refuses_what_it_cannot_do(self):
        weights, whole = self.path / "w.weights.h5", self.path / "m.keras"
        weights.write_bytes(b"not HDF5")
        whole.write_bytes(b"no zip archive")
        out = self.path / "out.safetensors"
        self.refuse("convert", weights, out, says=[str(weights), "--model must name", "siamese-lstm"])
        self.refuse("convert", *self.SMALL, whole, out, says=["--model siamese-lstm", "is a whole model"])
        self.refuse("convert", "--model", "vgg", weights, out, says="vgg")
        self.refuse("convert", self.path / "m.onnx", out, says=["IN", "m.onnx", ".safetensors, .keras or .h5"])
        self.refuse("convert", whole, self.path / "out.pt", says=["OUT", "out.pt", ".safetensors, .keras or .h5"])
        self.refuse("convert", whole, says="OUT is required")
        self.refuse("convert", self.path / "none.keras", out, says=["none.keras", "there is no such file"])
        self.refuse("convert", whole, self.path / "none" / "out.h5", says=["OUT", "none does not exist"])
        self.refuse("convert", whole, self.path / "." / "m.keras", says="the same file as IN")
        (self.path / "link.h5").symlink_to(whole)
        self.refuse("convert", whole, self.path / "link.h5", says="the same file as IN")

    def test_writes_nothing_from_a_damaged_file(self):
        good = self.train("good.keras")
        for name in ["m.h5", "w.weights.h5", "w.safetensors"]:
            self.convert(good, name)
        for name in ["good.keras", "m.h5", "w.weights.h5", "w.safetensors"]:
            content = (self.path / name).read_bytes()
            (self.path / name).write_bytes(content[:len(content) // 2])
            self.refuse("convert", *(self.SMALL if name[0] == "w" else []), self.path / name, self.path / "out.h5", says=name)
        self.convert(self.train("good.keras"), "w.weights.h5")
        self.refuse("convert", "--model", "mlp", self.path / "w.weights.h5", self.path / "out.h5", says="w.weights.h5")


class TrainedModel(Case):
    """evaluate and predict, and --model with files of whole models."""
    SMALL = ["--model", "siamese-lstm"]
    DATA = ["--data", "synthetic:6"]

    def train(self, name):
        self.succeed("train", *self.SMALL, *SYNTHETIC, "--save", self.path / name)
        return self.path / name

    def evaluate(self, *arguments):
        return json.loads(self.succeed("evaluate", *arguments, *self.DATA, "--json").stdout.splitlines()[-1])

    def predict(self, *arguments):
        table = self.path / "predictions.csv"
        self.succeed("predict", *arguments, *self.DATA, "--output", table)
        with table.open() as lines:
            return list(csv.reader(lines))

    def test_gives_the_same_from_a_model_and_from_its_weights_over_any_replicas(self):
        model = ["--model", self.train("model.keras")]
        self.succeed("convert", model[1], self.path / "w.safetensors")
        weights = [*self.SMALL, "--weights", self.path / "w.safetensors"]
        logs = self.evaluate(*model, "--replicas", "2")
        self.assertEqual(logs["examples"], 6)
        rows = self.predict(*model)
        self.assertEqual(rows[0], ["dense_0"])
        self.assertEqual(len(rows), 7)
        for other in [self.evaluate(*weights, "--replicas", "1"), self.evaluate(*model, "--replicas", "3", "--batch-size", "5")]:
            self.assertAlmostEqual(other["loss"], logs["loss"], places=5)
            self.assertEqual(other["accuracy"], logs["accuracy"])
        for row, other in zip(rows[1:], self.predict(*weights, "--replicas", "3")[1:]):
            self.assertAlmostEqual(float(row[0]), float(other[0]), places=5)

    def test_the_loss_is_that_of_the_predictions(self):
        model = ["--model", self.train("model.h5")]
        probabilities = [float(row[0]) for row in self.predict(*model)[1:]]
        low = min(-math.log(max(p, 1 - p)) for p in probabilities)
        high = max(-math.log(min(p, 1 - p)) for p in probabilities)
        self.assertTrue(low <= self.evaluate(*model)["loss"] <= high)

    def test_training_of_a_file_continues_as_it_was(self):
        model = self.train("model.keras")
        rate = ["--history", self.path / "h.json"]
        self.succeed("train", "--model", model, "--data", "synthetic:8", "--save", self.path / "b.keras", *rate)
        self.assertEqual(json.loads((self.path / "h.json").read_text())["learning_rate"], [0.01])
        with zipfile.ZipFile(self.path / "b.keras") as file:
            self.assertIn('"SGD"', file.read("config.json").decode())
        self.succeed("train", "--model", model, "--data", "synthetic:8", "--optimizer", "adam", *rate)
        self.assertEqual(json.loads((self.path / "h.json").read_text())["learning_rate"], [0.001])

    def test_an_option_changes_that_much_of_a_files_optimizer(self):
        def optimizer_of(file):
            with zipfile.ZipFile(file) as archive:
                return json.loads(archive.read("config.json"))["compile_config"]["optimizer"]

        def trained(file):
            with zipfile.ZipFile(file) as archive:
                return [archive.read(name) for name in ["config.json", "model.weights.h5"]]

        data = ["--data", "synthetic:8", "--batch-size", "4", "--no-shuffle"]
        adam = ["train", *self.SMALL, *data, "--optimizer", "adam"]
        start, end = self.path / "start.keras", self.path / "end.keras"
        self.succeed(*adam, "--learning-rate", "0.0005", "--save", start)
        self.succeed(*adam, "--learning-rate", "0.0005", "--epochs", "2", "--save", end)
        straight = trained(end)
        # The optimizer's state is kept: the second epoch is that of an uninterrupted run.
        self.succeed("train", "--model", start, *data, "--learning-rate", "0.0005", "--save", end)
        self.assertEqual(trained(end), straight)
        self.succeed("train", "--model", start, *data, "--learning-rate", "0.002", "--weight-decay", "0.01", "--save", end)
        saved, changed = optimizer_of(start), optimizer_of(end)
        self.assertEqual(changed["class_name"], "Adam")
        different = {name for name, value in changed["config"].items() if saved["config"].get(name) != value}
        self.assertEqual(different, {"learning_rate", "weight_decay"})
        self.refuse("train", "--model", start, *data, "--momentum", "0.9", says="--momentum belongs to sgd and rmsprop")

        sgd = self.path / "sgd.keras"
        self.succeed("train", *self.SMALL, *data, "--save", sgd)
        self.refuse("train", "--model", sgd, *data, "--momentum", "0.9", says=["--momentum 0.9", "does not fit the state"])

    def test_a_file_keeps_its_precision(self):
        precision = ["--precision", "mixed_bfloat16"]
        model = self.path / "m.keras"
        self.succeed("train", *self.SMALL, *SYNTHETIC, *precision, "--save", model)
        self.succeed("convert", model, self.path / "m.weights.h5")
        self.assertRegex(self.succeed("summary", "--model", model).stdout, r"│ lstm \(LSTM, +│.*\n│ mixed_bfloat16\) ")
        weights = [*self.SMALL, "--weights", self.path / "m.weights.h5"]
        self.assertEqual(self.predict("--model", model), self.predict(*weights, *precision))
        self.assertEqual(self.evaluate("--model", model)["loss"], self.evaluate(*weights, *precision)["loss"])
        self.assertNotEqual(self.predict("--model", model), self.predict(*weights))
        for command in ["train"], ["evaluate"], ["summary"]:
            self.refuse(*command, "--model", model, *precision, says=["--precision is for models given by name", "m.keras"])

    def test_summary_of_a_file(self):
        named, of_file = (json.loads(self.succeed("summary", "--model", model, "--json").stdout)
                          for model in ["siamese-lstm", self.train("model.h5")])
        self.assertEqual(of_file["params"], named["params"])
        other = (self.path / "model.h5").rename(self.path / os.fsdecode(b"\xff.h5"))  # not UTF-8
        result = json.loads(self.succeed("summary", "--model", other, "--json").stdout)
        self.assertEqual(result, of_file | {"model": f"{self.path}/\ufffd.h5"})

    def test_refuses_what_it_cannot_do(self):
        model = self.train("model.keras")
        weights = self.path / "w.weights.h5"
        self.succeed("convert", model, weights)
        out = ["--output", self.path / "out.csv"]
        self.refuse("evaluate", *self.SMALL, *self.DATA, says=["--weights", "siamese-lstm has no trained weights"])
        self.refuse("evaluate", "--model", weights, says=[str(weights), "use --weights for it"])
        self.refuse("evaluate", "--model", self.path / "none.h5", says=["none.h5", "there is no such file"])
        self.refuse("evaluate", "--model", model, says=["fashion-mnist", "(140, 256)"])
        self.refuse("evaluate", *self.SMALL, "--weights", self.path / "none.h5", says=["none.h5", "there is no such file"])
        os.mkfifo(self.path / "pipe.h5")
        (self.path / "folder.keras").mkdir()
        for file in self.path / "pipe.h5", self.path / "folder.keras":
            for option in ["--model"], [*self.SMALL, "--weights"]:
                self.refuse("evaluate", *option, file, says=f"{option[-1]} {file}: cannot be read: it is not a regular file")
        for option in ["--model"], [*self.SMALL, "--weights"]:
            self.refuse("evaluate", *option, self.path / ("x" * 300 + ".h5"), says=[f"{option[-1]} {self.path}/x", "File name too long"])
        self.refuse("evaluate", "--model", "mlp", "--weights", weights, *self.DATA, says="w.weights.h5")
        self.refuse("predict", "--model", model, *self.DATA, says="--output is required")
        self.refuse("predict", "--model", model, *self.DATA, "--output", self.path / "p.npy", says=["p.npy", ".csv"])
        self.refuse("predict", "--model", model, *self.DATA, "--output", self.path / "no" / "p.csv", says="no does not exist")
        self.refuse("train", "--model", model, *self.DATA, "--dropout", "0.1", says=["--dropout", "model.keras"])
        self.refuse("train", "--model", model, *self.DATA, "--strategy", "multi-gpu-model", says="multi-gpu-model")
        model.write_bytes(model.read_bytes()[:5000])
        self.refuse("predict", "--model", model, *self.DATA, *out, says="model.keras")

    def test_a_file_without_a_loss_predicts_and_takes_one_that_is_given(self):
        weights = self.train("w.weights.h5")
        bare = ["--model", self.path / "bare.keras"]
        self.succeed("convert", *self.SMALL, weights, bare[1])
        for command in "evaluate", "train":
            self.refuse(command, *bare, *self.DATA, says=["bare.keras", "has no loss", "give it one with --loss"])
            self.refuse(command, *bare, *self.DATA, "--loss", "crossentropy",
                        says=["--loss: lockstep has no loss 'crossentropy'", "binarycrossentropy"])
            self.refuse(command, *bare, *self.DATA, "--loss", "mse", "--metrics", "mae", "good",
                        says=["--metrics: lockstep has no metric 'good'", "binaryaccuracy"])
            self.refuse(command, *bare, *self.DATA, "--loss", "mse", "--from-logits", says=["--loss", "from_logits"])
        self.assertEqual(self.predict(*bare), self.predict(*self.SMALL, "--weights", weights))
        crossentropy = ["--loss", "binary_crossentropy"]
        logs = self.evaluate(*bare, *crossentropy, "--metrics", "accuracy")
        self.assertEqual(logs, self.evaluate(*self.SMALL, "--weights", weights) | {"model": str(bare[1])})
        self.assertNotEqual(self.evaluate(*bare, *crossentropy, "--from-logits")["loss"], logs["loss"])
        trained = self.path / "trained.keras"
        self.succeed("train", *bare, *SYNTHETIC[:-2], "--no-shuffle", *crossentropy, "--learning-rate", "0.5", "--save", trained)
        compiled = self.compiled(trained)
        self.assertEqual(compiled["loss"]["class_name"], "BinaryCrossentropy")
        self.assertIsNone(compiled["metrics"])
        self.assertEqual(compiled["optimizer"]["class_name"], "SGD")
        again = self.path / "again.keras"
        self.succeed("train", *self.SMALL, *SYNTHETIC[:-2], "--weights", weights, "--no-shuffle", "--learning-rate", "0.5",
                     "--save", again)
        self.assertEqual(self.predict("--model", trained), self.predict("--model", again))

    def compiled(self, model):
        with zipfile.ZipFile(model) as file:
            return json.loads(file.read("config.json"))["compile_config"]

    def test_a_loss_or_metrics_replace_that_much_of_how_a_model_is_compiled(self):
        model = self.path / "m.keras"
        self.succeed("train", *self.SMALL, *SYNTHETIC[:-2], "--optimizer", "adam", "--save", model)
        saved, out = self.compiled(model), self.path / "out.keras"

        def changed(start, *options):
            self.succeed("train", "--model", start, *SYNTHETIC[:-2], *options, "--save", out)
            compiled = self.compiled(out)
            return compiled, {name for name, value in compiled.items() if saved[name] != value}

        compiled, parts = changed(model, "--loss", "mse")
        self.assertEqual((compiled["loss"]["class_name"], parts), ("MeanSquaredError", {"loss"}))
        compiled, parts = changed(model, "--metrics", "mae", "binary_accuracy")
        self.assertEqual([metric["config"]["name"] for metric in compiled["metrics"]], ["mae", "binary_accuracy"])
        self.assertEqual(parts, {"metrics"})
        # A replaced loss or metric may be unknown to the library.
        own = self.compiled_otherwise(model, loss="circle", metrics=["f1"])
        self.refuse("train", "--model", own, *self.DATA, "--metrics", "mae", says="has no loss 'circle'; known are bce, ")
        compiled, parts = changed(own, "--loss", "binary_crossentropy", "--metrics", "accuracy")
        self.assertEqual(parts, set())
        logs = self.evaluate("--model", "siamese-lstm", "--weights", self.train("w.safetensors"), "--metrics", "mae")
        self.assertNotIn("accuracy", logs)
        self.assertIn("mae", logs)

    def compiled_otherwise(self, model, **parts):
        """Replaces parts of the file's compile_config."""
        changed = self.path / "changed.keras"
        with zipfile.ZipFile(model) as old, zipfile.ZipFile(changed, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "config.json":
                    config = json.loads(content)
                    config["compile_config"].update(parts)
                    content = json.dumps(config)
                new.writestr(name, content)
        return changed

    def test_a_file_with_an_unknown_optimizer_is_used_for_all_but_training_with_it(self):
        model = self.train("model.keras")
        free = self.compiled_otherwise(model, optimizer={"class_name": "ScheduleFreeAdamW", "config": {}})
        self.assertEqual(self.predict("--model", free), self.predict("--model", model))
        self.assertEqual(self.evaluate("--model", free)["loss"], self.evaluate("--model", model)["loss"])
        data = ["--data", "synthetic:8"]
        self.refuse("train", "--model", free, *data, says=["of class ScheduleFreeAdamW; known are", "choose another optimizer with --optimizer"])
        self.succeed("train", "--model", free, *data, "--optimizer", "adam")
        done = self.succeed("convert", free, self.path / "out.keras")
        self.assertIn("of class ScheduleFreeAdamW; known are", done.stderr)
        self.assertNotIn("LoadOptions", done.stderr)
        with zipfile.ZipFile(self.path / "out.keras") as file:
            self.assertNotIn("compile_config", file.read("config.json").decode())

    def test_a_file_with_an_unknown_metric_is_used_without_it(self):
        model = self.train("model.keras")
        unknown = self.compiled_otherwise(model, metrics=[{"class_name": "PearsonCorrelation", "config": {}}, "mae"])
        done = self.succeed("evaluate", "--model", unknown, *self.DATA, "--json")
        self.assertEqual(done.stderr.count("lockstep has no metric 'PearsonCorrelation'"), 1, done.stderr)
        self.assertIn("mae", json.loads(done.stdout.splitlines()[-1]))
        self.succeed("train", "--model", unknown, "--data", "synthetic:8")
        self.succeed("convert", unknown, self.path / "out.h5")


class Bench(Case):
    def test_fields(self):
        done = self.succeed("bench", "--model", "minigooglenet", "--replicas", "2", "--batch-size", "4", "--steps", "3",
                            "--warmup", "1", "--json")
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(list(result), [
            "model", "replicas", "global_batch", "precision", "examples_per_s", "step_ms", "host_ms", "split_ms",
            "params", "peak_memory_mb", "time_to_first_step_s", "device", "loss_first", "loss_last", "kernel_floor_ms"])
        self.assertEqual((result["replicas"], result["global_batch"], result["params"]), (2, 4, 1_656_250))
        step = result["step_ms"]
        self.assertTrue(0 < step["p10"] <= step["median"] <= step["p90"])
        self.assertTrue(0 < result["host_ms"] <= step["p90"])
        self.assertAlmostEqual(result["examples_per_s"], 4000 / step["median"], places=3)
        self.assertEqual(list(result["split_ms"]), ["input", "compute", "reduce", "update"])
        self.assertGreater(result["kernel_floor_ms"], 0)
        self.assertLess(result["loss_last"], result["loss_first"])
        self.fit(done.stderr)

    def test_precision(self):
        def bench(*options):
            done = self.succeed("bench", "--model", "minigooglenet", "--replicas", "2", "--batch-size", "4", "--steps", "2",
                                "--warmup", "1", "--json", *options)
            return json.loads(done.stdout.splitlines()[-1])
        plain, mixed = bench(), bench("--precision", "mixed_bfloat16")
        self.assertEqual([result["precision"] for result in (plain, mixed)], ["float32", "mixed_bfloat16"])
        self.assertEqual(plain["params"], mixed["params"])
        self.assertNotEqual(plain["loss_first"], mixed["loss_first"])
        self.assertAlmostEqual(plain["loss_first"], mixed["loss_first"], delta=0.05 * plain["loss_first"])
        self.assertGreater(mixed["kernel_floor_ms"], 0)

    def test_rows_of_labels(self):
        done = self.succeed("bench", "--model", "gpt", "--devices", "CPU:0", "--batch-size", "1", "--steps", "2", "--warmup",
                            "0", "--json")
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(result["kernel_floor_ms"], 0)
        self.assertLess(result["loss_last"], result["loss_first"])

    def test_two_inputs(self):
        done = self.succeed("bench", "--model", "siamese-lstm", "--replicas", "2", "--batch-size", "4", "--steps", "3",
                            "--warmup", "1", "--json")
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(result["params"], 82_305)
        self.assertGreater(result["kernel_floor_ms"], 0)
        self.assertLess(result["loss_last"], result["loss_first"])


class Scaling(Case):
    def test_rows_of_weak_and_strong_scaling(self):
        plot = self.path / "scaling.png"
        done = self.succeed("scaling", "--model", "siamese-lstm", "--replicas", "3", "--batch-per-replica", "2", "--rounds",
                            "2", "--steps", "2", "--warmup", "1", "--plot", plot, "--json")
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(list(result), ["model", "precision", "device", "rounds", "steps", "weak", "strong"])
        methods = ["mirrored", "reduction-to-one-device", "multi-gpu-model"]
        runs = [("mirrored", 1), *((method, replicas) for method in methods for replicas in (2, 3))]
        for kind, batches in ("weak", {1: 2, 2: 4, 3: 6}), ("strong", {1: 6, 2: 6, 3: 6}):
            self.assertEqual([(row["method"], row["replicas"]) for row in result[kind]], runs)
            for row in result[kind]:
                self.assertEqual(row["global_batch"], batches[row["replicas"]])
                self.assertGreater(row["examples_per_s"], 0)
                speedup = row["speedup"]
                self.assertTrue(0 < speedup["lowest"] <= speedup["median"] <= speedup["highest"])
                self.assertAlmostEqual(row["efficiency"], speedup["median"] / row["ideal"])
                self.assertTrue(1 <= row["ideal"] <= row["replicas"])
            self.assertEqual(result[kind][0]["speedup"], {"median": 1, "lowest": 1, "highest": 1})
        self.assertEqual(done.stderr.count("multi-gpu-model  "), 4)
        self.fit(done.stderr)
        self.assertTrue(plot.read_bytes().startswith(b"\x89PNG"))

    def test_refuses_what_cannot_scale(self):
        self.refuse("scaling", "--replicas", "1", says="one device cannot scale")
        self.refuse("scaling", "--methods", "mirrored,horovod", says="'horovod' is not a method; choose from mirrored, ")


if __name__ == "__main__":
    unittest.main()
