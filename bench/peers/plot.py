"""Draws a comparison's speeds with gnuplot: a group of bars for each model, relative to its fastest peer."""

import os
import pathlib
import subprocess
import sys

COLORS = {"lockstep": "#1f6feb", "pytorch-ddp": "#d1495b", "pytorch": "#e8a33d", "pytorch-compile": "#8a6d3b",
          "pytorch-reduce-overhead": "#2e8b57", "tensorflow": "#57606a", "one-replica": "#8ab4f8"}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bars(comparisons, sides):
    """gnuplot data blocks (x, height, lowest, highest, label) and the plot elements that draw them."""
    width = 0.8 / len(sides)
    blocks, drawn = [], []
    for number, side in enumerate(sides):
        name = f"$side{number}"
        blocks.append(f"{name} << END")
        for group, comparison in enumerate(comparisons):
            best = comparison["sides"][comparison["best_peer"]]["examples_per_s"]["median"]
            speed = comparison["sides"][side]["examples_per_s"]
            height, low, high = (speed[key] / best for key in ("median", "lowest", "highest"))
            x = group + (number - (len(sides) - 1) / 2) * width
            blocks.append(f"{x:.4f} {height:.5g} {low:.5g} {high:.5g} {height:.2f}")
        blocks.append("END")
        drawn += [f"{name} using 1:2:({width * 0.92}) with boxes fs solid noborder lc rgb '{COLORS[side]}' "
                  f"title {quoted(side)}",
                  f"{name} using 1:3:(0):($4-$3) with vectors heads size screen 0.003,90 lw 1.2 "
                  "lc rgb '#24292f' notitle",
                  f"{name} using 1:4:5 with labels font ',10' offset 0,0.6 notitle"]
    return blocks, drawn


def script(path, title, comparisons):
    sides = list(comparisons[0]["sides"])
    blocks, drawn = bars(comparisons, sides)
    tics = ", ".join(f"\"{entry['model']}\\nbatch {entry['global_batch']}\" {group}"
                     for group, entry in enumerate(comparisons))
    return "\n".join([
        "set terminal pngcairo size 1200,540 font 'DejaVu Sans,11' background '#ffffff'",
        f"set output {quoted(str(path))}",
        f"set title {quoted(title)} font 'DejaVu Sans Bold,13' noenhanced",
        "set border 3 lc rgb '#57606a'", "set tics nomirror", "set grid ytics lc rgb '#d0d7de' lw 1 lt 1",
        "set ylabel 'examples/s, the fastest peer is 1'", "set yrange [0:*]", "set offsets 0,0,0.1,0",
        "set bmargin 3.5", f"set xrange [-0.6:{len(comparisons) - 0.4}]", f"set xtics ({tics}) noenhanced",
        "set key outside top center horizontal noenhanced",
        *blocks, "plot " + ", ".join(drawn), ""])


def draw(path, title, comparisons):
    partial = pathlib.Path(f"{path}.{os.getpid()}.partial")
    done = subprocess.run(["gnuplot"], input=script(partial, title, comparisons), capture_output=True, text=True)
    if done.returncode or not partial.is_file():
        partial.unlink(missing_ok=True)
        sys.exit(f"--plot {path}: gnuplot could not write it: {done.stderr.strip()}")
    partial.replace(path)
