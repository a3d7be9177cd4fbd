"""Code shared by comparisons with peers: running programs, parsing their reports, writing the file with the results."""

import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOCKSTEP = ROOT / "build" / "release" / "tools" / "lockstep"
# Instruction sets that the speed of CPU kernels depends on: the CPU's model name often does not show them.
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def environment(framework):
    """The Python of the framework's environment, which is created if it does not exist."""
    maker = pathlib.Path(__file__).resolve().parent / "make_environment"
    made = subprocess.run([maker, framework], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(f"the environment of {framework} could not be made")
    return made.stdout.strip()


def given_python(parser, python, module):
    """Checks `python`, an interpreter's path or name: it must run and have the module."""
    try:
        asked = subprocess.run([python, "-c", f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"],
                               capture_output=True, text=True)
        found = asked.stdout.strip()
    except OSError as error:
        parser.error(f"--python {python}: cannot be run: {error.strerror}")
    if found != "True":
        parser.error(f"--python {python}: " + (f"has no module {module}" if found == "False" else "is no Python"))
    return python


def require_gpu(parser, program):
    """Exits with status 2 and a one-line message if lockstep finds no GPU or was built without CUDA."""
    why = report_of(output_of([program, "devices", "--json"], 60))["why_no_gpu"]
    if why:
        parser.exit(2, f"{parser.prog}: --device cuda: {why}\n")


def add_program_option(parser):
    parser.add_argument("--lockstep", type=pathlib.Path, default=LOCKSTEP, metavar="PROGRAM",
                        help="default build/release/tools/lockstep")


def require_program(parser, program):
    if not program.is_file() or not os.access(program, os.X_OK):
        parser.error(f"no program at {program}; build it or give --lockstep")


def require_writable(parser, outputs):
    """Checks that the output files can be made, since measuring takes hours. `outputs`: paths by option; None if not
    requested."""
    for option, path in outputs.items():
        if not path:
            continue
        if path.is_dir():
            parser.error(f"{option} {path}: is a folder; give a file")
        try:
            with tempfile.TemporaryFile(dir=path.resolve().parent):
                pass
        except OSError as error:
            parser.error(f"{option} {path}: cannot be written in its folder: {error.strerror}")


def output_of(command, limit_s):
    """Runs the program and returns its output; exits with a message that names it if it fails or exceeds the limit."""
    command = [str(part) for part in command]
    name = pathlib.Path(sys.argv[0]).name
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        sys.exit(f"{name}: not done after {limit_s} s: {' '.join(command)}")
    if done.returncode:
        sys.exit(f"{done.stderr}\n{name}: failed with {done.returncode}: {' '.join(command)}")
    return done.stdout


def report_of(output):
    """The JSON object in the last line: a program may print other text before it."""
    lines = output.strip().splitlines()
    try:
        report = json.loads(lines[-1] if lines else "")
    except ValueError:
        report = None
    if not isinstance(report, dict):
        sys.exit(f"the last line of the output is no JSON object: {lines[-1:]}")
    return report


def speed_report_of(output):
    report = report_of(output)
    speed = report.get("examples_per_s")
    if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not math.isfinite(speed) or speed <= 0:
        sys.exit(f"no positive examples_per_s in the report {report}")
    return report


def require_one_model(reports):
    """`reports` by side: all must have the same number of parameters, or they are of different models."""
    if len({report["params"] for report in reports.values()}) != 1:
        counts = ", ".join(f"{side} {report['params']}" for side, report in reports.items())
        sys.exit(f"not the same model, by the number of parameters: {counts}")


def gpus():
    """Names of this machine's GPUs and their driver's version, from nvidia-smi; empty without GPUs."""
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True)
    except OSError:
        return {}
    rows = [line.rsplit(", ", 1) for line in asked.stdout.splitlines()] if asked.returncode == 0 else []
    return {"gpus": [row[0] for row in rows], "driver": rows[0][1]} if rows else {}


def machine():
    cpu = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        cpu.setdefault(name.strip(), value.strip())
    flags = cpu.get("flags", "").split()
    return {"cpu": cpu.get("model name", platform.machine()), "cores": len(os.sched_getaffinity(0)),
            "instructions": [name for name in INSTRUCTIONS if name in flags], **gpus(), "system": platform.platform()}


def git(*args):
    """git's output; None without git, a repository or a commit."""
    try:
        return subprocess.run(("git", "-C", ROOT, *args), check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def write(path, versions, comparisons):
    changes = git("status", "--porcelain", "--untracked-files=no")
    report = {
        "machine": machine(),
        "versions": {**versions, "python": platform.python_version()},
        "commit": git("rev-parse", "--verify", "HEAD"),
        "uncommitted_changes": None if changes is None else bool(changes),
        "comparisons": comparisons,
    }
    # Renamed when complete, so that a failure leaves no half-written report.
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(report, indent=2) + "\n")
    partial.replace(path)
