#!/usr/bin/env python3
"""Reads a CSV file with pandas.read_csv and reports rows per second: a peer of bench/data/csv_bench.cpp.

With --make it only writes the file, with the same rows each time: 6 columns of integers, 10 of numbers, 2 of which have
missing values, and 4 of texts, one of which has missing values and commas in quotation marks.
"""

import argparse
import json
import time
from pathlib import Path

import numpy
import pandas


def make_table(file, rows):
    random = numpy.random.default_rng(1)
    columns = {f"integer_{i}": random.integers(-10 ** (i + 1), 10 ** (i + 1), rows) for i in range(6)}
    columns |= {f"number_{i}": random.normal(scale=10.0 ** (i - 3), size=rows) for i in range(8)}
    for i in range(2):
        values = random.normal(size=rows).round(3)
        values[random.random(rows) < 0.1] = numpy.nan
        columns[f"gaps_{i}"] = values
    for i in range(3):
        names = numpy.array([f"text {i} {number}" for number in range(10 ** (i + 1))])
        columns[f"text_{i}"] = random.choice(names, rows)
    columns["place"] = random.choice(numpy.array(["Ulm, Germany", "Rome", "Lima", ""]), rows)
    pandas.DataFrame(columns).to_csv(file, index=False)


def report(options):
    if options.engine == "pyarrow":
        import pyarrow
        pyarrow.set_cpu_count(options.workers)
    rows = len(pandas.read_csv(options.file, engine=options.engine))
    start = time.perf_counter()
    for _ in range(options.epochs):
        pandas.read_csv(options.file, engine=options.engine)
    return {"per_s": round(rows * options.epochs / (time.perf_counter() - start), 1), "count": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--engine", choices=("c", "pyarrow"), default="c", help="c uses one thread (default c)")
    parser.add_argument("--workers", type=int, default=2, help="threads of pyarrow (default 2)")
    parser.add_argument("--epochs", type=int, default=3, help="measured passes, after one that is not measured")
    parser.add_argument("--make", type=int, metavar="ROWS", help="only write this many rows")
    options = parser.parse_args()
    if options.make:
        make_table(options.file, options.make)
    else:
        print(json.dumps(report(options)))


if __name__ == "__main__":
    main()
