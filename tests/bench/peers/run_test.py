"""bench/peers/run and run_first_step with programs that print given reports instead of training, and with the real
lockstep where that refuses. Usage: run_test.py PEERS LOCKSTEP"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(sys.argv.pop(1))
LOCKSTEP = pathlib.Path(sys.argv.pop(1))
# Replaces lockstep and each environment's Python: prints the next of the given reports and logs the call.
PROGRAM = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
name = "lockstep"
if sys.argv[1] == "-B":
    name = pathlib.Path(sys.argv[2]).stem
    if name == "pytorch_ddp":
        processes = sys.argv[sys.argv.index("--processes") + 1]
        name = "pytorch-ddp" if processes != "1" else "pytorch"
        if "--compile" in sys.argv:
            mode = sys.argv[sys.argv.index("--compile") + 1]
            name = "pytorch-compile" if mode == "default" else "pytorch-" + mode
if sys.argv[1] == "-c":  # whether it has a module
    print(True)
    sys.exit()
if sys.argv[1] == "devices":
    name = "devices"
with open(folder / "calls", "a") as calls:
    print(json.dumps([name, *sys.argv[1:]]), file=calls)
if name == "lockstep":
    (folder / "autotune").write_text(os.environ.get("LOCKSTEP_CUDNN_AUTOTUNE", ""))
said = json.loads((folder / "reports.json").read_text())[name]
count = sum(json.loads(line)[0] == name for line in open(folder / "calls"))
report = said[(count - 1) % len(said)]
print("warming up")
if isinstance(report, str):
    print(report, file=sys.stderr)
    sys.exit(3)
print(json.dumps(report))
"""


def report(speed, memory=100, params=7):
    return {"examples_per_s": speed, "step_ms": {"median": 1000 / speed}, "params": params, "peak_memory_mb": memory,
            "time_to_first_step_s": 2, "version": "1.2"}


class Case(unittest.TestCase):
    command = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        text = PROGRAM.format(python=sys.executable, folder=str(self.folder))
        for framework, venv in (("pytorch", "venv"), ("tensorflow", "venv-tensorflow")):
            (self.folder / venv / "bin").mkdir(parents=True)
            self.write_program(self.folder / venv / "bin" / "python", text)
            shutil.copy(PEERS / f"requirements-{framework}.txt", self.folder / venv / "requirements.installed")
        self.write_program(self.folder / "lockstep", text)

    def write_program(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def run_with(self, reports, *options):
        (self.folder / "reports.json").write_text(json.dumps(reports))
        return subprocess.run(
            [PEERS / self.command, "--lockstep", self.folder / "lockstep", "--json", self.folder / "out.json", *options],
            capture_output=True, text=True, env={**os.environ, "LOCKSTEP_PEERS_VENV": str(self.folder / "venv")})

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def fails(self, done, *says):
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "out.json").exists())


class Run(Case):
    command = "run"

    def test_ratios_are_those_of_a_round_and_each_side_is_first_in_turn(self):
        reports = {"lockstep": [report(300, 50), report(320, 50), report(280, 50)],
                   "pytorch-ddp": [report(100), report(200), report(140)],
                   "tensorflow_mirrored": [report(150, 200), report(160, 200), report(70, 200)]}
        done = self.run_with(reports, "--models", "mlp:8", "--peers", "pytorch-ddp", "tensorflow", "--rounds", "3",
                             "--plot", self.folder / "out.png")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [call[0] for call in self.calls()]
        self.assertEqual([names[0], names[3], names[6]], ["lockstep", "pytorch-ddp", "tensorflow_mirrored"])
        self.assertEqual([sorted(names[i:i + 3]) for i in (0, 3, 6)], [sorted(reports)] * 3)
        out = json.loads((self.folder / "out.json").read_text())
        self.assertEqual({name: out["versions"][name] for name in ("pytorch", "tensorflow")},
                         {"pytorch": "1.2", "tensorflow": "1.2"})
        [comparison] = out["comparisons"]
        self.assertEqual([entry["ratios"] for entry in comparison["rounds"]],
                         [{"pytorch-ddp": 3, "tensorflow": 2}, {"pytorch-ddp": 1.6, "tensorflow": 2},
                          {"pytorch-ddp": 2, "tensorflow": 4}])
        sides = comparison["sides"]
        self.assertEqual(sides["pytorch-ddp"]["ratio"], {"median": 2, "lowest": 1.6, "highest": 3})
        self.assertEqual(sides["tensorflow"]["memory_ratio"]["median"], 0.25)
        self.assertEqual(comparison["best_peer"], "tensorflow")
        self.assertIn("fastest peer, tensorflow: 2.000", done.stdout)
        self.assertRegex(done.stdout, r"  memory ratio\n")
        self.assertRegex(done.stdout, r"tensorflow .* 0\.25\n")
        self.assertTrue((self.folder / "out.png").read_bytes().startswith(b"\x89PNG"))

    def test_every_side_does_the_same_work(self):
        sides = ["lockstep", "pytorch-ddp", "pytorch", "pytorch-compile", "tensorflow_mirrored"]
        done = self.run_with({side: [report(1)] for side in sides}, "--models", "mlp:8", "resnet50:4", "--rounds", "1",
                             "--steps", "6", "--warmup", "2", "--replicas", "4", "--peers", "pytorch-ddp", "pytorch",
                             "pytorch-compile", "tensorflow")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call[0] for call in self.calls()], sides * 2)
        for call, model, batch in zip(self.calls(), ["mlp"] * 5 + ["resnet50"] * 5, ["8"] * 5 + ["4"] * 5):
            self.assertEqual(call[-9:], ["--model", model, "--batch-size", batch, "--steps", "6", "--warmup", "2",
                                         "--json"])
        replicas = [call[call.index(option) + 1] for call in self.calls()[:5]
                    for option in ("--devices", "--replicas", "--processes") if option in call]
        self.assertEqual(replicas, ["CPU:0,CPU:1,CPU:2,CPU:3", "4", "1", "1", "4"])
        for call in self.calls():
            self.assertEqual([call[i + 1] for i, part in enumerate(call) if part == "--device"],
                             ["cpu"] if call[0] != "lockstep" else [])

    def test_one_replica_is_lockstep_itself(self):
        done = self.run_with({"lockstep": [report(3), report(2)]}, "--models", "mlp:8", "--peers", "one-replica",
                             "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call[call.index("--devices") + 1] for call in self.calls()], ["CPU:0,CPU:1", "CPU:0"])
        [comparison] = json.loads((self.folder / "out.json").read_text())["comparisons"]
        self.assertEqual(comparison["rounds"][0]["ratios"], {"one-replica": 1.5})

    def test_every_side_has_the_precision(self):
        sides = ["lockstep", "pytorch", "tensorflow_mirrored"]
        options = ["--peers", "pytorch", "tensorflow", "--rounds", "1"]
        for precision, of_peers in ("float32", "float32"), ("mixed_bfloat16", "bfloat16"):
            done = self.run_with({side: [report(1)] for side in sides}, "--precision", precision, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            for call in self.calls():
                said = call[call.index("--precision") + 1]
                self.assertEqual(said, precision if call[0] == "lockstep" else of_peers)
            out = json.loads((self.folder / "out.json").read_text())
            self.assertEqual({comparison["precision"] for comparison in out["comparisons"]}, {precision})
            models = [comparison["model"] for comparison in out["comparisons"]]
            self.assertEqual("siamese-lstm" in models, precision == "float32")
            (self.folder / "calls").unlink()

    def test_other_models_and_failures_are_named(self):
        options = ["--models", "mlp:8", "--peers", "pytorch", "--rounds", "1"]
        other = {"lockstep": [report(1)], "pytorch": [report(1, params=8)]}
        self.fails(self.run_with(other, *options), "not the same model", "lockstep 7, pytorch 8")
        self.fails(self.run_with({"lockstep": [report(1)], "pytorch": ["out of wits"]}, *options),
                   "out of wits", "failed with 3", "--processes 1 --device cpu --precision float32 --model mlp")
        self.fails(self.run_with({"lockstep": [{"params": 7}], "pytorch": [report(1)]}, *options),
                   "no positive examples_per_s")
        self.fails(self.run_with({"lockstep": [[]], "pytorch": [report(1)]}, *options), "no JSON object")

    def on_gpu(self, *options):
        sides = ["pytorch", "pytorch-compile", "pytorch-reduce-overhead", "pytorch-ddp", "tensorflow_mirrored"]
        done = self.run_with({"devices": [{"why_no_gpu": ""}], "lockstep": [report(3)],
                              **{side: [report(2)] for side in sides}}, "--device", "cuda", "--rounds", "1", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [call for call in self.calls() if call[0] != "devices"]

    def test_on_a_gpu_all_sides_compute_there(self):
        calls = self.on_gpu("--models", "mlp:8")
        self.assertEqual([call[0] for call in calls],
                         ["lockstep", "pytorch", "pytorch-compile", "pytorch-reduce-overhead"])
        for call in calls:
            option, value = ("--devices", "GPU:0") if call[0] == "lockstep" else ("--device", "cuda")
            self.assertEqual(call[call.index(option) + 1], value)
            self.assertEqual(call[-5:], ["--steps", "50", "--warmup", "10", "--json"])
            self.assertNotIn("--tf32", call)
        self.assertEqual((self.folder / "autotune").read_text(), "1")
        [comparison] = json.loads((self.folder / "out.json").read_text())["comparisons"]
        self.assertEqual([comparison[key] for key in ("device", "peers_tf32", "cuda_graphs", "replicas")],
                         ["cuda", False, False, 1])

    def test_on_gpus_the_peers_may_use_tf32_and_keep_what_they_compile(self):
        calls = self.on_gpu("--models", "mlp:8", "--replicas", "2", "--tf32", "on", "--cuda-graphs", "--peers",
                            "pytorch-ddp", "pytorch-compile", "tensorflow", "--compile-cache", self.folder / "cache")
        cache = str((self.folder / "cache").resolve())
        by_side = {call[0]: call[:-9] for call in calls}
        self.assertEqual(by_side["lockstep"][1:], ["bench", "--devices", "GPU:0,GPU:1", "--precision", "float32",
                                                   "--cuda-graphs"])
        self.assertEqual(by_side["pytorch-ddp"][3:], ["--processes", "2", "--device", "cuda", "--precision", "float32",
                                                      "--tf32", "--compile-cache", cache])
        self.assertEqual(by_side["pytorch-compile"][3:7], ["--processes", "1", "--compile", "default"])
        self.assertEqual(by_side["tensorflow_mirrored"][3:], ["--replicas", "2", "--device", "cuda", "--precision",
                                                              "float32", "--tf32"])

    def test_work_that_nobody_names_is_that_of_the_device(self):
        calls = self.on_gpu("--peers", "pytorch", "--precision", "mixed_bfloat16")
        work = [(call[call.index("--model") + 1], call[call.index("--batch-size") + 1]) for call in calls[::2]]
        self.assertEqual(work, [("minigooglenet", "64"), ("minigooglenet", "256"), ("mlp", "8192"),
                                ("resnet50", "256"), ("xception", "64")])

    def test_a_given_python_runs_the_peers_of_pytorch(self):
        other = self.folder / "other"
        shutil.copy(self.folder / "venv" / "bin" / "python", other)
        (self.folder / "venv" / "bin" / "python").unlink()
        done = self.run_with({"lockstep": [report(3)], "pytorch": [report(1)]}, "--models", "mlp:8", "--peers",
                             "pytorch", "--rounds", "1", "--python", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call[0] for call in self.calls()], ["lockstep", "pytorch"])

    def test_a_python_without_pytorch_is_refused(self):
        bare = self.folder / "bare"
        self.write_program(bare, f"#!/bin/sh\nexec {sys.executable} -S -I \"$@\"\n")
        done = self.run_with({}, "--python", bare)
        self.fails(done, f"--python {bare}: has no module torch")
        self.assertEqual(done.returncode, 2)

    def test_a_machine_without_a_gpu_is_named_in_one_line(self):
        asked = subprocess.run([LOCKSTEP, "devices", "--json"], capture_output=True, text=True, check=True)
        why = json.loads(asked.stdout)["why_no_gpu"]
        if not why:
            self.skipTest("this machine has a GPU")
        done = self.run_with({}, "--device", "cuda", "--lockstep", LOCKSTEP)
        self.fails(done)
        self.assertEqual((done.returncode, done.stderr), (2, f"run: --device cuda: {why}\n"))
        self.assertFalse((self.folder / "calls").exists())

    def test_bad_options_are_reported_before_anything_runs(self):
        for options, says in (
            (["--models", "mlp:7"], "multiple of --replicas 2"),
            (["--models", "alexnet:8"], "alexnet:8: a model (efficientnet-b0, gpt"),
            (["--peers", "jax"], "jax"),
            (["--precision", "float16"], "float16"),
            (["--models", "siamese-lstm:8", "--precision", "mixed_bfloat16"], "nothing to compare in mixed_bfloat16"),
            (["--tf32", "on"], "--tf32 on is for --device cuda and --precision float32"),
            (["--device", "cuda", "--precision", "mixed_bfloat16", "--tf32", "on"], "--precision float32"),
            (["--peers", "pytorch-reduce-overhead"], "it is for --device cuda"),
            (["--cuda-graphs"], "is for --device cuda"),
            (["--python", self.folder / "none"], "none: cannot be run: No such file"),
            (["--python", "true"], "--python true: is no Python"),
            (["--python", sys.executable, "--compile-cache", self.folder / "no" / "cache"], "cannot be written in its folder: No such"),
            (["--rounds", "0"], "at least 1"),
            (["--plot", self.folder / "no" / "out.png"], "out.png: cannot be written in its folder: No such"),
            (["--plot", "/proc/out.png"], "--plot /proc/out.png: cannot be written in its folder"),
            (["--plot", self.folder], "is a folder; give a file"),
            (["--lockstep", self.folder / "nothing"], "no program at"),
        ):
            self.fails(self.run_with({}, *options), says)
        self.assertFalse((self.folder / "calls").exists())


class RunFirstStep(Case):
    command = "run_first_step"

    def test_ratios_are_those_of_a_round(self):
        (self.folder / "train-images-idx3-ubyte.gz").touch()
        said = {"lockstep": [{"time_to_first_step_s": 1}, {"time_to_first_step_s": 3}],
                "keras_fit": [{"time_to_first_step_s": 8, "version": "1.2"}]}
        done = self.run_with(said, "--data", self.folder, "--rounds", "2", "--batch-size", "64", "--replicas", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call[0] for call in self.calls()], ["lockstep", "keras_fit", "keras_fit", "lockstep"])
        for call in self.calls():
            self.assertEqual(call[call.index("--batch-size") + 1], "64")
        self.assertEqual(self.calls()[0][self.calls()[0].index("--replicas") + 1], "3")
        out = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([entry["ratio"] for entry in out["comparisons"][0]["rounds"]], [0.125, 0.375])
        self.assertIn("median ratio 0.250 (0.125-0.375)", done.stdout)

    def test_failures_are_named(self):
        (self.folder / "train-images-idx3-ubyte.gz").touch()
        said = {"lockstep": [{"time_to_first_step_s": 1}], "keras_fit": ["out of wits"]}
        self.fails(self.run_with(said, "--data", self.folder, "--rounds", "1"), "out of wits",
                   "run_first_step: failed with 3", "keras_fit.py")

    def test_bad_options_are_reported_before_anything_runs(self):
        self.fails(self.run_with({}, "--data", self.folder), "no train-images-idx3-ubyte.gz in")
        (self.folder / "train-images-idx3-ubyte.gz").touch()
        for options, says in (
            (["--rounds", "0"], "must be at least 1"),
            (["--json", self.folder / "no" / "out.json"], "out.json: cannot be written in its folder: No such"),
            (["--lockstep", self.folder / "nothing"], "no program at"),
        ):
            self.fails(self.run_with({}, "--data", self.folder, *options), says)
        self.assertFalse((self.folder / "calls").exists())


if __name__ == "__main__":
    unittest.main()
