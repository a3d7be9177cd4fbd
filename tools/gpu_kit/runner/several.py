"""Items for machines with two or more GPUs."""

import os
import shlex

import gtest
import right
from course import Item, missing, on_path, report_of


def gpu_list(count):
    return ",".join(f"GPU:{index}" for index in range(count))


def trained(count, *options):
    return right.same_curve(["--devices", gpu_list(count), "--verify-every", 1, *options], count)


def gnuplot_folder(course):
    """A folder with a `gnuplot` that runs this machine's without the kit's libraries; None if there is none."""
    program = on_path("gnuplot", os.environ)
    if program is None:
        return None
    folder = course.folder("gnuplot")
    own_path = shlex.quote(os.environ.get("LD_LIBRARY_PATH", ""))
    (folder / "gnuplot").write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={own_path} exec {shlex.quote(program)} "$@"\n')
    (folder / "gnuplot").chmod(0o755)
    return folder


def scaling(item, course):
    steps = ["--batch-per-replica", 2, "--rounds", 1, "--steps", 1, "--warmup", 0] if course.small else ["--steps", 20]
    gnuplot = gnuplot_folder(course)
    options = ["--plot", course.results.logs / "scaling.png"] if gnuplot else []
    env = {**course.env, "PATH": f"{gnuplot}:{course.env.get('PATH', '')}"} if gnuplot else None
    ended = course.follow([course.program("lockstep"), "scaling", "--model", "minigooglenet", "--devices", gpu_list(course.gpus),
                           *([] if course.small else ["--precision", "mixed_bfloat16"]), "--json", *steps, *options], item.name, 400, env)
    report = report_of(ended)
    course.add_ended(item, ended, report, "" if report else "no report")


def nccl_tests(item, course):
    """Measures the same collective with nccl-tests, for comparison."""
    program = on_path("all_reduce_perf", course.env)
    if program is None:
        return missing(course, item, "no all_reduce_perf of nccl-tests in PATH: NCCL's own bandwidth was not measured")
    ended = course.follow([program, "-b", "4K", "-e", "128M", "-f", 4, "-g", course.gpus], item.name, 120,
                          env=os.environ)  # it finds its own libraries
    table = [line.split() for line in ended.lines if line.strip() and not line.lstrip().startswith("#")]
    course.add_ended(item, ended, table, "" if table else "no figures")


def disturbed(item, course):
    """Runs the tests of failing and stalled replicas with a GPU each: the other replicas must be released."""
    entries = [entry for entry in course.manifest["tests"] if "strategy" in entry["name"]]
    for entry in entries:
        program = gtest.Program(course.root / entry["program"], {**course.env, **entry["environment"]},
                                course.folder("disturbed"), course.log(item.name), course.case_limit_s, course.budget,
                                lambda case, verdict, seconds, detail: course.add(item, verdict, case, seconds, detail))
        program.run(program.cases("*Errors*:*Timeout*:*Stall*")[0] or [])


def bfloat16_wire(item, course):
    """Trains with gradients exchanged as bfloat16 and compares the copies of the variables after every step. The
    losses differ from those of float32 and are only recorded."""
    options = ["--devices", gpu_list(course.gpus), "--wire-dtype", "bfloat16", "--verify-every", 1]
    losses, ended = right.losses_of(course, item.name, options)
    course.add_ended(item, ended, {"losses": losses})


def items(course):
    if course.gpus < 2:
        return
    for count in sorted({2, 3, course.gpus} & set(range(2, course.gpus + 1))):
        yield Item("several", f"{count} GPUs as {count} CPUs", trained(count))
    yield Item("several", "bfloat16 on the wire", bfloat16_wire)
    yield Item("several", "stalled and failing replicas", disturbed)
    yield Item("several", "scaling", scaling)
    yield Item("several", "nccl-tests", nccl_tests)
