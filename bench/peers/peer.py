"""Code that the peers share: options, speed and memory, and the report in the form of `lockstep bench --json`."""

import argparse
import json
import os
import pathlib
import sys
import time

SEED = 1


def percentile(values, fraction):
    values = sorted(values)
    position = fraction * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def process_start_s():
    """When this process started, on the clock of now_s."""
    # Field 22 is the start time in ticks since boot. Count after the program's name, whose parentheses may contain
    # spaces.
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def now_s():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def peak_memory_mb():
    """Peak memory. getrusage would include the process's memory before it executed this program."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    sys.exit("no VmHWM in /proc/self/status")


def make_parser(text, models):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=models, default="minigooglenet", help="model (default minigooglenet)")
    parser.add_argument("--batch-size", type=int, default=128, help="global batch, split evenly (default 128)")
    parser.add_argument("--steps", type=int, default=30, help="measured steps (default 30)")
    parser.add_argument("--warmup", type=int, default=5, help="steps before measuring (default 5)")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32",
                        help="bfloat16 means mixed precision: variables stay float32 (default float32)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="device of the replicas; cuda: one GPU each (default cpu)")
    parser.add_argument("--tf32", action=argparse.BooleanOptionalAction, default=False,
                        help="let products and convolutions of float32 round their operands to TF32, on GPUs")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    return parser


def check(parser, args, replicas):
    """`replicas` is the name of the option for the number of replicas."""
    count = getattr(args, replicas)
    if count < 1 or args.steps < 1 or args.warmup < 0:
        parser.error(f"--{replicas} and --steps must be at least 1, --warmup at least 0")
    if args.batch_size < 1 or args.batch_size % count:
        parser.error(f"--batch-size must be a positive multiple of --{replicas}")
    if args.tf32 and (args.device != "cuda" or args.precision != "float32"):
        parser.error("--tf32 is for --device cuda and --precision float32")


def require_gpus(parser, needed, found, framework):
    """Exits with status 2 and a one-line message unless the framework finds enough GPUs."""
    if found < needed:
        there = f"{found} GPU{'' if found == 1 else 's'}" if found else "no GPU"
        parser.exit(2, f"{parser.prog}: --device cuda: {needed} needed, and {framework} finds {there}\n")


def train(step, args, start_s):
    """Calls `step`, which returns its loss, as often as the options say; returns the measurements."""
    losses = []
    times = []
    begin = time.perf_counter()
    for number in range(args.warmup + args.steps):
        losses.append(step())
        end = time.perf_counter()
        if number == 0:
            first_step_s = now_s() - start_s
        if number >= args.warmup:
            times.append((end - begin) * 1e3)
        begin = end
    median = percentile(times, 0.5)
    return {
        "model": args.model,
        "global_batch": args.batch_size,
        "precision": args.precision,
        "tf32": args.tf32,
        "examples_per_s": args.batch_size / median * 1e3,
        "step_ms": {"median": median, "p10": percentile(times, 0.1), "p90": percentile(times, 0.9)},
        "time_to_first_step_s": first_step_s,
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "steps": args.steps,
        "warmup": args.warmup,
    }


def say_and_print(report, as_json):
    step = report["step_ms"]
    print(f"{report['examples_per_s']:.1f} examples/s; step {step['median']:.1f} ms "
          f"(p10 {step['p10']:.1f}, p90 {step['p90']:.1f}); loss {report['loss_first']:.4f} -> "
          f"{report['loss_last']:.4f}; {report['params']} parameters; {report['peak_memory_mb']:.0f} MiB; first step "
          f"after {report['time_to_first_step_s']:.1f} s", file=sys.stderr)
    if as_json:
        print(json.dumps(report))
