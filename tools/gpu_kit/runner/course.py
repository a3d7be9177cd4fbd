"""State that the items of a course share: the kit, this machine, the budget, and where results go."""

import dataclasses
import functools
import json
import os
import pathlib
import tempfile
import time

import libraries
import processes


class Budget:
    """Time limit of the whole run in seconds; no item begins after it is spent."""

    def __init__(self, seconds):
        self.began = time.monotonic()
        self.end = self.began + seconds

    def spent(self):
        return time.monotonic() >= self.end

    def used(self):
        return time.monotonic() - self.began


@dataclasses.dataclass
class Item:
    group: str
    name: str
    run: object  # called with the item and the course; adds its verdicts to course.results
    selected: object = None  # cases to run; None: all


class Course:
    def __init__(self, args, manifest, results):
        self.root = libraries.KIT
        self.manifest = manifest
        self.small = args.small
        self.jobs = args.jobs
        self.case_limit_s = args.case_limit
        self.results = results
        self.budget = Budget(args.budget)
        self.env = libraries.environment()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-gpu-kit-"))
        self.traces = {}  # trace files, by the program's name

    def program(self, name):
        return self.root / "bin" / name

    @functools.cached_property
    def devices(self):
        """This machine's devices, as `lockstep devices` lists them; None if the program does not start."""
        ended = self.follow([self.program("lockstep"), "devices", "--json"], "devices", 60)
        report = report_of(ended)
        return None if report is None else report["physical"]

    @property
    def gpus(self):
        return sum(device["name"].startswith("GPU") for device in self.devices or [])

    def folder(self, name):
        """Makes an empty folder for an item's files."""
        return pathlib.Path(tempfile.mkdtemp(prefix=name.replace("/", "_") + "-", dir=self.scratch))

    def log(self, name):
        return self.results.logs / (name.replace("/", "_") + ".log")

    def follow(self, command, name, limit_s, env=None, on_line=lambda line: False):
        """Runs a program for at most `limit_s` and what is left of the budget. It finds the kit's libraries, unless
        `env` replaces its environment: programs of this machine take os.environ, as the kit's libraries may be older than
        theirs."""
        end = min(time.monotonic() + limit_s, self.budget.end)
        return processes.follow(command, env or self.env, self.folder(name), self.log(name), lambda: end, on_line)

    def add(self, item, verdict, case=None, seconds=0.0, detail="", figures=None):
        """Adds a verdict; skipping counts as failing on a machine with a GPU, where nothing has a reason to
        skip."""
        if verdict == "skipped" and self.gpus:
            verdict, detail = "failed", f"skipped on a machine with a GPU: {detail}"
        self.results.add(item.group, item.name, verdict, case, seconds, detail, figures)

    def add_ended(self, item, ended, figures=None, detail=""):
        """Adds the verdict of a program that has ended; `detail` says that its result is wrong."""
        verdict = "failed" if detail and ended.verdict() == "passed" else ended.verdict()
        if verdict != "passed":
            detail = f"{detail or ended.why()}\n{ended.tail()}"
        self.add(item, verdict, None, ended.seconds, detail, figures)


def report_of(ended):
    """The last output line that is a JSON object or array; None if there is none."""
    for line in reversed(ended.lines):
        if line.startswith(("{", "[")):
            try:
                return json.loads(line)
            except ValueError:
                return None
    return None


def missing(course, item, what):
    course.add(item, "not there", detail=what)


def on_path(name, env):
    """Path of a program of this machine, also of a CUDA toolkit that is not in PATH; None if there is none."""
    folders = [*env.get("PATH", "").split(":"), "/usr/local/cuda/bin", "/opt/nvidia/nsight-compute"]
    for folder in folders:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return None
