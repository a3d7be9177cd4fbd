"""Reads the output of `lockstep train --tensorboard` with TensorBoard, and compares it with the history.

usage: tensorboard_interop.py --driver LOCKSTEP
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

EPOCHS = 2
STEPS = 3


def run_of(folder):
    run = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    run.Reload()
    return run


def curve(run, tag):
    points = run.Tensors(tag)
    return [point.step for point in points], [float(make_ndarray(point.tensor_proto)) for point in points]


def check_curves(run, history):
    """The tag that Keras uses for an epoch's value: its name after "epoch_"."""
    for name, values in history.items():
        steps, points = curve(run, f"epoch_{name}")
        assert steps == list(range(EPOCHS)), (name, steps)
        assert np.allclose(points, values, rtol=1e-6, atol=0), (name, points, values)


def check_histograms(run):
    tags = [tag for tag in run.Tags()["tensors"] if tag.endswith("/histogram")]
    assert len(tags) > 20 and "dense/bias/histogram" in tags, tags
    for tag in tags:
        points = run.Tensors(tag)
        assert len(points) == EPOCHS
        for point in points:
            buckets = make_ndarray(point.tensor_proto)
            assert buckets.shape[1] == 3 and (buckets[:, 0] < buckets[:, 1]).all()
    # 10 classes.
    assert make_ndarray(run.Tensors("dense/bias/histogram")[0].tensor_proto)[:, 2].sum() == 10


def check_graph(run):
    nodes = {node.name: node for node in run.Graph().node}
    assert nodes["input_layer"].op == "InputLayer"
    first = nodes["conv2d"]
    assert first.op == "Conv2D" and list(first.input) == ["input_layer"]
    assert [dim.size for dim in first.attr["_output_shapes"].list.shape[0].dim] == [-1, 32, 32, 96], first
    assert all(source in nodes for node in nodes.values() for source in node.input)
    assert nodes["dense"].attr["parameters"].i == 336 * 10 + 10
    # TensorBoard would merge all activations, or all normalizations, of the network into one node.
    assert "activation_1_" in nodes and not [name for name in nodes if re.fullmatch(r"\D*_\d+", name)], list(nodes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    program = parser.parse_args().driver
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "train", "--data", "synthetic:12", "--batch-size", "4", "--epochs", str(EPOCHS),
                        "--history", folder / "history.json", "--csv", folder / "history.csv",
                        "--tensorboard", folder / "logs"], check=True, stderr=subprocess.DEVNULL)
        written = json.loads((folder / "history.json").read_text())
        history = {name: values for name, values in written.items() if isinstance(values, list) and name != "epoch"}
        run = run_of(folder / "logs" / "train")
        check_curves(run, history)
        steps, losses = curve(run, "batch_loss")
        assert steps == list(range(EPOCHS * STEPS)), steps
        # Within an epoch, the mean so far is shown.
        assert np.allclose(losses[STEPS - 1 :: STEPS], history["loss"], rtol=1e-6, atol=0)
        check_histograms(run)
        check_graph(run)
        with open(folder / "history.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["loss"]) for row in rows] == history["loss"]


if __name__ == "__main__":
    main()
