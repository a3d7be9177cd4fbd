"""Items that check correctness: libraries, smoke, tests, doctor, trainings."""

import json
import math
import os

import gtest
from course import Item, report_of

SMOKE_LIMIT_S = 60
# Relative tolerance of a step's loss against the CPU's: sums are computed in another order, over some steps.
TOLERANCE = 2e-3


def libraries(item, course):
    """Checks that every library that the kit's programs need is found and has every function that they call."""
    files = [path for folder in ("bin", "lib") for path in sorted((course.root / folder).iterdir()) if path.is_file()]
    unresolved = {}
    user = ""
    for line in course.follow(["ldd", "-r", *files], "ldd", 120).lines:
        if line.endswith(":") and line.startswith("/"):
            user = os.path.basename(line[:-1])
        elif "not found" in line:
            unresolved.setdefault(line.split("=>")[0].strip(), []).append(user)
        elif line.startswith("undefined symbol: "):
            name, _, path = line[len("undefined symbol: "):].partition("(")
            unresolved.setdefault(name.strip(), []).append(os.path.basename(path.strip(" \t)")))
    for name, users in unresolved.items():
        course.add(item, "failed", name, detail=f"not found on this machine; needed by {', '.join(users)}")
    if not unresolved:
        course.add(item, "passed", detail=f"of {len(files)} files")


def smoke(item, course):
    """Runs gpu_smoke, which prints a line for each check of a library call. After a check that ends the program, the
    remaining ones run one by one."""
    program = course.program("gpu_smoke")
    names = [line.split()[0].rstrip(":") for line in course.follow([program, "--list"], "smoke", 30).lines if line.strip()]
    known = set()

    def on_line(line):
        word, _, rest = line.partition(" ")
        name, _, detail = rest.partition(": ")
        if name in names and word in VERDICT_OF_SMOKE:
            known.add(name)
            verdict = VERDICT_OF_SMOKE[word]
            # skipped: this kind of GPU, or a single GPU, does not support it
            course.add(item, "not there" if verdict == "skipped" and course.gpus else verdict, name, detail=detail)
        return False

    if item.selected is None:
        course.follow([program], "smoke", SMOKE_LIMIT_S, on_line=on_line)
    for name in [name for name in names if name not in known and wanted(item, name)]:
        if course.budget.spent():
            course.add(item, "not begun", name)
            continue
        ended = course.follow([program, "--only", name], "smoke", SMOKE_LIMIT_S, on_line=on_line)
        if name not in known:
            course.add(item, "failed" if ended.verdict() == "passed" else ended.verdict(), name, ended.seconds,
                       f"said nothing of it, and {ended.why()}\n{ended.tail()}")
    if not names:
        course.add(item, "crashed", detail="gpu_smoke --list names no checks")


VERDICT_OF_SMOKE = {"ok": "passed", "FAILED": "failed", "skipped": "skipped"}


def wanted(item, case):
    return item.selected is None or case in item.selected


def test(entry):
    def run(item, course):
        def report(case, verdict, seconds, detail):
            course.add(item, verdict, case, seconds, detail)

        program = gtest.Program(course.root / entry["program"], {**course.env, **entry["environment"]},
                                course.folder(item.name), course.log(item.name), course.case_limit_s, course.budget, report)
        cases, listed = program.cases(entry["filter"])
        if cases is None:
            course.add(item, "crashed", None, listed.seconds, f"lists no cases: {listed.why()}\n{listed.tail()}")
            return
        program.run([case for case in cases if wanted(item, case)])
    return run


def doctor(item, course):
    ended = course.follow([course.program("lockstep"), "doctor", "--json"], "doctor", 120)
    findings = report_of(ended)
    course.add_ended(item, ended, findings, "" if findings else "no report")


def losses_of(course, name, options):
    """The loss of each training step (None after a failure), and how the program ended."""
    log = course.folder("losses") / "steps.jsonl"
    work = ["--model", "minigooglenet", "--epochs", 1, "--seed", 0, "--optimizer", "sgd", "--dropout", 0, "--timeout", 60]
    size = ["--data", "synthetic:12", "--batch-size", 6] if course.small else ["--data", "synthetic:512", "--batch-size", 64]
    ended = course.follow([course.program("lockstep"), "train", *work, *size, *options, "--step-log", log], name, 240)
    if ended.verdict() != "passed":
        return None, ended
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], ended


def same_curve(options, cpus):
    """Trains with `options`, and with as many replicas on CPUs; the losses must agree within the tolerance."""
    def run(item, course):
        losses, ended = losses_of(course, item.name, options)
        if losses is None:
            course.add_ended(item, ended)
            return
        expected, reference = losses_of(course, f"{item.name} on CPUs", ["--devices", ",".join(f"CPU:{i}" for i in range(cpus))])
        if expected is None:
            course.add_ended(item, reference)
            return
        far = [f"step {step}: {loss}, on CPUs {other}" for step, (loss, other) in enumerate(zip(losses, expected))
               if not math.isclose(loss, other, rel_tol=TOLERANCE)]
        if len(losses) != len(expected):
            far.append(f"{len(losses)} steps, on CPUs {len(expected)}")
        course.add_ended(item, ended, {"losses": losses, "on_cpus": expected}, "; ".join(far))
    return run


def items(course):
    yield Item("checks", "libraries", libraries)
    if course.program("gpu_smoke").exists():
        yield Item("smoke", "gpu_smoke", smoke)
    for entry in course.manifest["tests"]:
        yield Item("tests", entry["name"], test(entry))
    yield Item("doctor", "doctor", doctor)
    yield Item("train", "GPU:0", same_curve(["--devices", "GPU:0"], 1))
    yield Item("train", "two replicas", same_curve(["--replicas", 2, "--verify-every", 1], 2))
    yield Item("train", "two replicas in graphs", same_curve(["--replicas", 2, "--cuda-graphs"], 2))
