"""Trains a model of two outputs with sample weights, loss weights and metrics by Keras' fit and by lockstep's, over three
replicas with uneven last batches, and compares the histories and the weights.

usage: fit_interop.py --driver FIT_DRIVER
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

import keras
import numpy as np
from keras import layers

ROWS = 76  # in batches of 16: the last one has 12
TOLERANCE = 2e-5  # relative, after 15 steps


def make_model():
    x = keras.Input((8,))
    hidden = layers.Dense(16, activation="tanh")(x)
    label, length = layers.Dense(3, name="label")(hidden), layers.Dense(1, name="length")(hidden)
    return keras.Model(x, [label, length])


def make_data():
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, (ROWS, 8)).astype("<f4")
    return {
        "x": x,
        "label": x[:, :3].argmax(axis=1).astype("<f4"),
        "length": np.abs(x).sum(axis=1, keepdims=True).astype("<f4"),
        "sample_weight": random.uniform(0, 2, ROWS).astype("<f4"),
    }


def targets_of(data):
    return [data["label"].astype("int64"), data["length"]]


def fit(model, data):
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        loss=[cross_entropy, keras.losses.Huber()],
        loss_weights=[1, 0.25],
        metrics=[["accuracy"], ["mean_absolute_error"]],
        weighted_metrics=[[keras.metrics.SparseCategoricalCrossentropy(from_logits=True)], []],
    )
    weights = [data["sample_weight"]] * 2
    return model.fit(
        data["x"], targets_of(data), sample_weight=weights, batch_size=16, epochs=3, shuffle=False, verbose=0
    ).history


def check_evaluations(mine, other, data):
    ours, theirs = (which.evaluate(data["x"], targets_of(data), return_dict=True, verbose=0) for which in (mine, other))
    assert ours.keys() == theirs.keys(), f"saved by lockstep: {sorted(ours)}, by Keras: {sorted(theirs)}"
    for key, value in theirs.items():
        assert np.isclose(ours[key], value, rtol=TOLERANCE), f"{key}: {ours[key]}, Keras has {value}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    driver = parser.parse_args().driver
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, data = make_model(), make_data()
        for key, values in data.items():
            values.tofile(folder / key)
        model.save(folder / "model.keras")
        command = [driver, folder / "model.keras", folder, folder / "trained.keras"]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        ours = {}
        for line in lines:
            ours.setdefault(line.split()[0], []).append(float(line.split()[1]))
        theirs = fit(model, data)
        print(f"Keras' history has {sorted(theirs)}")
        assert len(theirs) == 6, theirs
        for key, values in theirs.items():
            assert np.allclose(ours[key], values, rtol=TOLERANCE), f"{key}: {ours[key]}, Keras has {values}"
        trained = keras.saving.load_model(folder / "trained.keras")  # compiled as there
        check_evaluations(trained, model, data)
        for mine, other in zip(trained.variables, model.variables):
            difference = np.abs(np.asarray(mine) - np.asarray(other)).max()
            print(f"{other.path}: largest difference {difference:.1e}")
            assert difference <= TOLERANCE, difference


if __name__ == "__main__":
    main()
