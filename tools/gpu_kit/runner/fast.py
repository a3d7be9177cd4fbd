"""Items that measure speed and where time goes, each alone on the machine: benchmarks, peers, timelines,
profilers."""

import json
import os

import libraries
import results
from course import Item, missing, on_path, report_of

PEERS = ("pytorch", "pytorch-compile", "pytorch-reduce-overhead")
# Batch normalization's kernels, by the names of their functors in kernels/normalization/batch_norm_grid.h and
# moments.h.
BATCH_NORM = "regex:Normalize|GradientX|ChannelMoments|GradientSums"
SANITIZER_LIMIT_S = 240
WORK = [("resnet50", 256, "mixed_bfloat16"), ("resnet50", 256, "float32"),
        ("minigooglenet", 64, "mixed_bfloat16"), ("minigooglenet", 256, "mixed_bfloat16"), ("minigooglenet", 256, "float32"),
        ("mlp", 8192, "mixed_bfloat16"), ("siamese-lstm", 1024, "float32")]
SMALL_WORK = [("minigooglenet", 2, "float32")]


def work_of(course):
    return SMALL_WORK if course.small else WORK


def steps_of(course):
    return ["--steps", 1, "--warmup", 1] if course.small else ["--steps", 30, "--warmup", 10]


def bench_command(course, model, batch, precision, devices="GPU:0"):
    return [course.program("lockstep"), "bench", "--model", model, "--batch-size", batch, "--precision", precision,
            "--devices", devices, "--json", *steps_of(course)]


def bench(model, batch, precision, *options):
    def run(item, course):
        ended = course.follow([*bench_command(course, model, batch, precision), *options], item.name, 120)
        report = report_of(ended)
        course.add_ended(item, ended, report, "" if report else "no report")
    return run


def collectives(item, course):
    output = course.folder("collectives") / "collectives.json"
    which = ["--benchmark_filter=^gpus/.*/4KiB", "--benchmark_min_time=0.001"] if course.small else ["--benchmark_filter=^gpus/"]
    ended = course.follow([course.program("collectives_bench"), *which, f"--benchmark_out={output}"], item.name, 180)
    figures = json.loads(output.read_text())["benchmarks"] if ended.verdict() == "passed" else None
    course.add_ended(item, ended, figures, "" if figures else "nothing was measured")


def peers(model, batch, precision):
    def run(item, course):
        python = libraries.python_with_torch()
        if python is None:
            return missing(course, item, "no Python of this machine has PyTorch")
        output = course.folder("peers") / "peers.json"
        ended = course.follow(
            [python, "-B", course.root / "bench/peers/run", "--device", "cuda", "--python", python, "--lockstep",
             course.root / "lockstep", "--replicas", 1, "--models", f"{model}:{batch}", "--precision", precision,
             "--peers", *PEERS, "--rounds", 1, *steps_of(course), "--json", output], item.name, 400,
            env=os.environ)  # PyTorch finds its own libraries
        figures = json.loads(output.read_text())["comparisons"] if output.exists() else None
        course.add_ended(item, ended, figures, "" if figures else "no report")
    return run


def attention_peer(item, course):
    """Times PyTorch's attention at the sizes of the smoke check attention_speed."""
    python = libraries.python_with_torch()
    if python is None:
        return missing(course, item, "no Python of this machine has PyTorch")
    ended = course.follow([python, "-B", course.root / "bench/peers/pytorch_attention.py", "--calls", 1 if course.small else 20],
                          item.name, 120, env=os.environ)
    figures = report_of(ended)
    course.add_ended(item, ended, figures, "" if figures else "no report")


def timeline(name, command):
    """Runs the program of `command(course)` with the injected recorder, in an environment where PyTorch finds its
    own libraries. `command` returns None if PyTorch is missing."""
    def run(item, course):
        made = command(course)
        if made is None:
            return missing(course, item, "no Python of this machine has PyTorch")
        trace = course.folder("timeline") / "trace.json"
        injected = {"CUDA_INJECTION64_PATH": str(course.root / "lib/liblockstep_timeline.so"), "LOCKSTEP_TIMELINE": str(trace)}
        ended = course.follow(made, item.name, 120, env={**os.environ, **injected})
        if trace.exists():
            course.traces[name] = trace
            results.write_traces(course.traces, course.results.out / "trace.json.gz")
        course.add_ended(item, ended, {"said": ended.tail(3)}, "" if trace.exists() else "no trace was written")
    return run


def own_timeline(course):
    return [course.root / "lockstep", *bench_command(course, *work_of(course)[0])[1:]]


def pytorch_timeline(course):
    model, batch, precision = work_of(course)[0]
    python = libraries.python_with_torch()
    return python and [python, "-B", course.root / "bench/peers/pytorch_ddp.py", "--device", "cuda", "--processes", 1, "--model",
                       model, "--batch-size", batch, "--precision", precision.replace("mixed_", ""), "--json", *steps_of(course)]


def profiled(item, course):
    """Profiles batch normalization's kernels in one step: how close they are to the memory bandwidth, and what
    stalls them."""
    ncu = on_path("ncu", course.env)
    if ncu is None:
        return missing(course, item, "no ncu on this machine")
    model, batch, precision = work_of(course)[0]
    ended = course.follow(
        [ncu, "--target-processes", "all", "--csv", "--clock-control", "none", "--kernel-name-base", "demangled", "--kernel-name", BATCH_NORM, "--launch-count", 24, "--section", "SpeedOfLight", "--section",
         "MemoryWorkloadAnalysis", "--section", "LaunchStats", "--section", "WarpStateStats", course.root / "lockstep", "bench",
         "--model", model, "--batch-size", batch, "--precision", precision, "--devices", "GPU:0", "--steps", 1, "--warmup", 0],
        item.name, 180, env=os.environ)  # the kit's libraries are for lockstep alone, not for ncu
    table = [line for line in ended.lines if line.startswith('"')]
    (course.results.out / "ncu.csv").write_text("\n".join(table) + "\n")
    results.cut(course.results.out / "ncu.csv")
    course.add_ended(item, ended, None, "" if len(table) > 1 else "no kernel was profiled")


def sanitized(tool, name, command):
    def run(item, course):
        sanitizer = on_path("compute-sanitizer", course.env)
        if sanitizer is None:
            return missing(course, item, "no compute-sanitizer on this machine")
        ended = course.follow([sanitizer, "--target-processes", "all", "--tool", tool, "--error-exitcode", 9, *command(course)],
                              item.name, SANITIZER_LIMIT_S, env=os.environ)
        with open(course.results.out / "sanitizer.txt", "a") as file:
            file.write(f"== {tool} {name}\n" + "\n".join(ended.lines) + "\n")
        results.cut(course.results.out / "sanitizer.txt")
        course.add_ended(item, ended)
    return run


def sanitized_training(course):
    return [course.root / "lockstep", "train", "--model", "minigooglenet", "--data", "synthetic:8", "--batch-size", 4, "--epochs",
            1, "--replicas", 2]


def sanitized_lstm(course):
    return [course.root / "lockstep", "bench", "--model", "siamese-lstm", "--batch-size", 4, "--steps", 1, "--warmup", 0,
            "--devices", "GPU:0"]


def items(course):
    for model, batch, precision in work_of(course):
        name = f"{model}:{batch} {precision}"
        yield Item("bench", name, bench(model, batch, precision))
        if model != "siamese-lstm":
            yield Item("bench", f"{name} graphs", bench(model, batch, precision, "--cuda-graphs"))
    yield Item("bench", "collectives", collectives)
    for model, batch, precision in work_of(course):
        yield Item("peers", f"{model}:{batch} {precision}", peers(model, batch, precision))
    yield Item("peers", "attention", attention_peer)
    if (course.root / "lib/liblockstep_timeline.so").exists():
        yield Item("timelines", "lockstep", timeline("lockstep", own_timeline))
        yield Item("timelines", "pytorch", timeline("pytorch", pytorch_timeline))
    yield Item("ncu", "batch normalization", profiled)
    for tool in ("memcheck", "racecheck"):
        yield Item("sanitizer", f"{tool} minigooglenet", sanitized(tool, "minigooglenet", sanitized_training))
        yield Item("sanitizer", f"{tool} siamese-lstm", sanitized(tool, "siamese-lstm", sanitized_lstm))
