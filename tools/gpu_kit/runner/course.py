"""What the items of a course share: the kit, this machine, the budget, and where results go."""

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
    """Of a whole run, in seconds: what is not begun in it is not begun."""

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
    run: object  # called with the item and the course; says its verdicts to course.results
    selected: object = None  # cases of it that are wanted; None: all


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
        self.traces = {}  # files, by the program's name

    def program(self, name):
        return self.root / "bin" / name

    @functools.cached_property
    def devices(self):
        """As the program `lockstep` lists them; None if it does not start."""
        ended = self.follow([self.program("lockstep"), "devices", "--json"], "devices", 60)
        report = report_of(ended)
        return None if report is None else report["physical"]

    @property
    def gpus(self):
        return sum(device["name"].startswith("GPU") for device in self.devices or [])

    def folder(self, name):
        """An empty one, for what an item writes."""
        return pathlib.Path(tempfile.mkdtemp(prefix=name.replace("/", "_") + "-", dir=self.scratch))

    def log(self, name):
        return self.results.logs / (name.replace("/", "_") + ".log")

    def follow(self, command, name, limit_s, env=None, on_line=lambda line: False):
        """A program under a limit, which what is left of the budget may make shorter. It finds the kit's libraries, unless it
        is given another environment."""
        end = min(time.monotonic() + limit_s, self.budget.end)
        return processes.follow(command, env or self.env, self.folder(name), self.log(name), lambda: end, on_line)

    def add(self, item, verdict, case=None, seconds=0.0, detail="", figures=None):
        """On a machine with a GPU nothing has a reason to be skipped."""
        if verdict == "skipped" and self.gpus:
            verdict, detail = "failed", f"skipped on a machine with a GPU: {detail}"
        self.results.add(item.group, item.name, verdict, case, seconds, detail, figures)

    def add_ended(self, item, ended, figures=None, detail=""):
        """The verdict of a program that has ended by itself, or with `detail` that of a result that is wrong."""
        verdict = "failed" if detail and ended.verdict() == "passed" else ended.verdict()
        if verdict != "passed":
            detail = f"{detail or ended.why()}\n{ended.tail()}"
        self.add(item, verdict, None, ended.seconds, detail, figures)


def report_of(ended):
    """The last line of its output that is a JSON object or array; None if there is none."""
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
    """A program of this machine's, e.g. of a CUDA toolkit that is not in PATH; None if it is not there."""
    folders = [*env.get("PATH", "").split(":"), "/usr/local/cuda/bin", "/opt/nvidia/nsight-compute"]
    for folder in folders:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return None
