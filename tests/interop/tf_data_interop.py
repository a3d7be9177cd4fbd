"""Compares lockstep's Dataset with tf.data: the cardinality and the elements of the pipelines in tf_data_pipelines.json.

tf_data_results.json has TensorFlow's results, so that only --tensorflow and --write need TensorFlow.

usage: tf_data_interop.py --driver TF_DATA_DRIVER [--tensorflow [--seconds S] [--seed N] | --write]
  --tensorflow  also compares the file with the results of the installed TensorFlow, and compares random pipelines
  --seconds S   for how long it makes random pipelines; default: 20
  --seed N      of the first random pipeline; default: the time of day
  --write       writes the results of the installed TensorFlow to the file

A pipeline is a list of stages ["name", {arguments}] with tf.data's names. The first stage is a source, also in the
pipelines that are arguments of other stages. Names and arguments other than tf.data's:

  from_generator {"stop": n}           0 to n - 1, of unknown cardinality
  times, slices                        sources in the map_func of flat_map and interleave, of an element x of the input:
                                       x, x times; the rows of x
  map {"map_func": ...}                "times_ten"; "fill": x, x times, as a vector; "fill_rows": as x % 3 rows
  filter {"predicate": ...}            "even": the sum of x; "all"; "none"
  cache {"file": true}                 in a file
  padded_batch                         has lists with the shape and the value for each tensor of an element
  window                               elements are batches of the elements of tf.data's windows, as in lockstep
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).parent
PIPELINES = FOLDER / "tf_data_pipelines.json"
RESULTS = FOLDER / "tf_data_results.json"
MOST_ELEMENTS = 24  # that are read of each pipeline
MOST_FAILURES = 10


def stages_in(pipeline):
    """All stages of the pipeline and of those in its arguments."""
    for name, arguments in pipeline:
        yield name, arguments
        for inner in arguments.get("datasets", []) + [arguments.get("dataset", []), arguments.get("map_func", [])]:
            if isinstance(inner, list):
                yield from stages_in(inner)


def is_drawn(name, arguments):
    """Whether the stage draws which elements come first."""
    return name == "shuffle" or (name == "sample_from_datasets" and sum(map(bool, arguments["weights"])) > 1)


def numbers_in(lists):
    """All numbers in nested lists."""
    if isinstance(lists, int):
        return [lists]
    return [number for part in lists for number in numbers_in(part)]


def comparable(pipeline, elements):
    """What does not depend on random numbers."""
    stages = list(stages_in(pipeline))
    if elements == "error" or not any(is_drawn(*stage) for stage in stages):
        return elements
    ends_early = any(name == "take" or arguments.get("stop_on_empty_dataset") for name, arguments in stages)
    if ends_early or len(elements) == MOST_ELEMENTS:
        return None
    return len(elements), sorted(numbers_in(elements))


def is_cardinality(pipeline, ours, theirs, elements):
    """Whether lockstep's cardinality is tf.data's or differs from it as tools/reference/data.md says."""
    if ours == theirs or (isinstance(ours, int) and min(ours, MOST_ELEMENTS) == len(elements)):
        return True
    if ours == "infinite":
        return theirs == "unknown" and len(elements) == MOST_ELEMENTS
    if ours != "unknown":
        return False
    if theirs == "infinite":
        return any(arguments.get("stop_on_empty_dataset") for _, arguments in stages_in(pipeline))
    return any(name == "repeat" and not arguments for name, arguments in stages_in(pipeline))


def agree(pipeline, ours, theirs):
    if theirs["cardinality"] == "error":  # TensorFlow rejects by static shapes what lockstep rejects in the pass
        return "error" in ours.values()
    if ours["cardinality"] == "error":
        return False
    elements = theirs["elements"]
    if elements == "error":
        return ours["elements"] == "error"
    same = comparable(pipeline, ours["elements"]) == comparable(pipeline, elements)
    return same and is_cardinality(pipeline, ours["cardinality"], theirs["cardinality"], elements)


def run(driver, pipelines):
    """Results in lockstep."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "pipelines.json"
        file.write_text(json.dumps(pipelines))
        done = subprocess.run([driver, file, str(MOST_ELEMENTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(pipelines, names, results, others, same):
    """Prints the first pipelines whose two results differ and returns how many differ."""
    failures = 0
    for pipeline, result, other in zip(pipelines, results, others, strict=True):
        if same(pipeline, result, other):
            continue
        failures += 1
        if failures <= MOST_FAILURES:
            print(json.dumps(pipeline), f"{names[0]}: {result}", f"{names[1]}: {other}", sep="\n  ")
    return failures


def compare(driver, pipelines, results):
    return report(pipelines, ("lockstep", "tf.data"), run(driver, pipelines), results, agree)


def compare_random(driver, tensorflow, seed, seconds):
    end = time.monotonic() + seconds
    failures, compared = 0, 0
    while time.monotonic() < end and failures < MOST_FAILURES:
        print(f"random pipelines with the seeds {seed} to {seed + 49}", flush=True)
        pipelines = [tensorflow.random_pipeline(number) for number in range(seed, seed + 50)]
        results = [tensorflow.run(pipeline, MOST_ELEMENTS) for pipeline in pipelines]
        # TensorFlow also rejects elements that an empty data set would have.
        valid = [number for number, result in enumerate(results) if result["cardinality"] != "error"]
        failures += compare(driver, [pipelines[number] for number in valid], [results[number] for number in valid])
        compared += len(valid)
        seed += 50
    print(f"{compared} random pipelines compared")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--tensorflow", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    pipelines = json.loads(PIPELINES.read_text())
    failures = 0
    if options.tensorflow or options.write:
        import tensorflow_pipelines as tensorflow  # not in the environment of the other tests

        now = [tensorflow.version(), *(tensorflow.run(pipeline, MOST_ELEMENTS) for pipeline in pipelines)]
        if options.write:
            RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, now)) + "\n]\n")
    version, *results = json.loads(RESULTS.read_text())
    failures += compare(options.driver, pipelines, results)
    if options.tensorflow:
        names = (RESULTS.name, "now")
        failures += report(pipelines, names, results, now[1:], lambda _, result, other: result == other)
        failures += compare_random(options.driver, tensorflow, options.seed, options.seconds)
    print(f"{len(pipelines)} pipelines compared with {version}; differences: {failures}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
