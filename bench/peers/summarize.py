#!/usr/bin/env python3
"""Compares the reports of lockstep and a peer; called by `run`, once per round and once at the end."""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path


def read_report(path):
    """Takes the whole file as JSON, or else its last line: a program may print other text before it."""
    text = path.read_text().strip()
    try:
        report = json.loads(text)
    except ValueError:
        try:
            report = json.loads(text.splitlines()[-1] if text else "")
        except ValueError:
            sys.exit(f"{path.name}: the last line of the output is not JSON")
    speed = report.get("examples_per_s") if isinstance(report, dict) else None
    if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not math.isfinite(speed) or speed <= 0:
        sys.exit(f"{path.name}: no positive examples_per_s in the report")
    return report


def read_round(folder, number):
    lockstep = read_report(folder / f"{number}.lockstep.json")
    peer = read_report(folder / f"{number}.peer.json")
    if lockstep.get("params") != peer["params"]:
        sys.exit(f"not the same model: lockstep has {lockstep.get('params')} parameters, the peer {peer['params']}")
    return {
        "lockstep": lockstep,
        "peer": peer,
        "ratio": lockstep["examples_per_s"] / peer["examples_per_s"],
        "load_1min_before": float((folder / f"{number}.load").read_text().split()[0]),
    }


def cpu_model():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def git(root, *args):
    """Returns git's output, or None where there is no git, no repository or no commit yet."""
    try:
        return subprocess.run(("git", "-C", root, *args), check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def print_round(number, entry):
    print(f"round {number}: lockstep {entry['lockstep']['examples_per_s']:.1f} examples/s, "
          f"peer {entry['peer']['examples_per_s']:.1f} examples/s, ratio {entry['ratio']:.3f}")


def print_summary(args):
    rounds = [read_round(args.folder, number) for number in range(1, args.rounds + 1)]
    median = statistics.median(entry["ratio"] for entry in rounds)
    print(f"median ratio lockstep/peer of {args.rounds} round(s): {median:.3f}")
    if not args.output:
        return
    commit = git(args.root, "rev-parse", "--verify", "HEAD")
    changes = git(args.root, "status", "--porcelain", "--untracked-files=no")
    report = {
        "machine": {"cpu": cpu_model(), "cores": len(os.sched_getaffinity(0))},
        "versions": {
            "lockstep": rounds[0]["lockstep"].get("version"),
            "pytorch": rounds[0]["peer"]["version"],
            "python": platform.python_version(),
        },
        "commit": commit,
        "uncommitted_changes": None if changes is None else bool(changes),
        "median_ratio": median,
        "rounds": rounds,
    }
    # Moved into place whole, so that a failure leaves no half-written report.
    partial = args.output.with_name(args.output.name + ".partial")
    partial.write_text(json.dumps(report, indent=2) + "\n")
    partial.replace(args.output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the rounds' reports are")
    parser.add_argument("--round", type=int, help="print this round alone")
    parser.add_argument("--rounds", type=int, help="print the median of rounds 1 to this")
    parser.add_argument("--root", help="the repository, for its commit")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args()
    if args.round:
        print_round(args.round, read_round(args.folder, args.round))
    else:
        print_summary(args)


if __name__ == "__main__":
    main()
