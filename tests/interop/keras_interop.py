"""Compares lockstep with Keras on the same model.

Compares the layout of the weights' file, weights in both directions, and predictions.

usage: keras_interop.py --driver INTEROP_DRIVER [CASE ...]
"""

import argparse
import pathlib
import subprocess
import tempfile

import keras_backend

keras_backend.choose("numpy")

import h5py
import keras
import numpy as np
from keras import layers

ROWS = 10
TOLERANCE = 1e-4  # of predictions, relative to the largest one if that exceeds 1


def minigooglenet():
    def conv(x, filters, kernel, strides=(1, 1), padding="same"):
        x = layers.Conv2D(filters, kernel, strides=strides, padding=padding)(x)
        return layers.Activation("relu")(layers.BatchNormalization()(x))

    def inception(x, filters_1x1, filters_3x3):
        return layers.Concatenate()([conv(x, filters_1x1, (1, 1)), conv(x, filters_3x3, (3, 3))])

    def downsample(x, filters):
        convolved = conv(x, filters, (3, 3), (2, 2), "valid")
        return layers.Concatenate()([convolved, layers.MaxPooling2D((3, 3), strides=(2, 2))(x)])

    images = keras.Input((32, 32, 3))
    x = conv(images, 96, (3, 3))
    x = inception(x, 32, 32)
    x = inception(x, 32, 48)
    x = downsample(x, 80)
    x = inception(x, 112, 48)
    x = inception(x, 96, 64)
    x = inception(x, 80, 80)
    x = inception(x, 48, 96)
    x = downsample(x, 96)
    x = inception(x, 176, 160)
    x = inception(x, 176, 160)
    x = layers.AveragePooling2D((7, 7))(x)
    x = layers.Flatten()(layers.Dropout(0.5)(x))
    return keras.Model(images, layers.Dense(10)(x))


def mlp(inputs=80, hidden=(40, 20, 10, 6)):
    x = vector = keras.Input((inputs,))
    for units, activation in zip(hidden, ("tanh", "relu", "relu", "relu")):
        x = layers.Dense(units, activation=activation)(x)
    return keras.Model(vector, layers.Dense(1, activation="sigmoid")(x))


def branches():
    images = keras.Input((9, 9, 3))
    near = layers.Conv2D(4, 3, padding="same")(images)
    far = layers.Conv2D(6, 1)(images)
    far = layers.Activation("relu")(layers.BatchNormalization()(far))
    far = layers.Conv2D(4, 3, padding="same")(far)
    x = layers.Concatenate()([near, far])
    shared = layers.Conv2D(8, 3, padding="same")
    once = layers.BatchNormalization()(shared(x))
    twice = shared(layers.Activation("tanh")(once))
    x = layers.Concatenate()([once, twice, x])
    largest = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    mean = layers.AveragePooling2D(3, strides=2, padding="same")(x)
    x = layers.Flatten()(layers.Concatenate()([mean, largest]))
    return keras.Model(images, layers.Dense(5)(x))


def lstm():
    sequence = keras.Input((9, 5))
    x = layers.LSTM(8, return_sequences=True)(sequence)
    return keras.Model(sequence, layers.Dense(4)(layers.LSTM(6)(x)))


MODELS = {"minigooglenet": minigooglenet, "mlp": mlp, "branches": branches, "lstm": lstm}
# Cases for which the parameters of the full-size model "full_CASE" are also counted.
FULL_MODELS = {"mlp": (lambda: mlp(8000, (4000, 2000, 500, 300)), 41_157_101)}
# Deep models: with arbitrary moving statistics, their predictions would hardly depend on the inputs, and f32 rounding
# errors grow from layer to layer.
DEEP_MODELS = set()
DEEP_TOLERANCE = 2 * TOLERANCE


def contents(path):
    """Groups (None) and data sets (type, shape, bytes) of a file by name, with their attributes' names."""
    found = {}

    def visit(name, item):
        value = None
        if isinstance(item, h5py.Dataset):  # lockstep writes Normalization's count as f32
            values = item[()].astype("<f4") if name.startswith("layers/normalization") else item[()]
            value = (values.dtype.str, item.shape, values.tobytes())
        found[name] = (value, sorted(item.attrs))

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


class Comparison:
    """One model on both sides, with a folder for the exchanged files."""

    def __init__(self, driver, case, model, folder):
        self.driver, self.case, self.model, self.folder = driver, case, model, pathlib.Path(folder)
        self.tolerance = DEEP_TOLERANCE if case in DEEP_MODELS else TOLERANCE
        self.random = np.random.default_rng(1)
        self.inputs = [self.random_ids(model_input.shape[1:]) if "int" in model_input.dtype
                       else self.random_rows(model_input.shape[1:]) for model_input in model.inputs]
        (self.folder / "inputs").write_bytes(b"".join(rows.tobytes() for rows in self.inputs))

    def random_ids(self, shape):
        return self.random.integers(0, 9, (ROWS, *shape)).astype("<f4")

    def random_rows(self, shape):
        """Noise that is brighter in some rows; otherwise, models that end in a mean over an image would predict nearly
        the same for all."""
        brightness = self.random.uniform(-1, 1, (ROWS, *(1 for _ in shape)))
        return (self.random.uniform(-1, 1, (ROWS, *shape)) + brightness).astype("<f4")

    def lockstep(self, command, weights):
        files = [self.folder / name for name in ("inputs", "outputs")]
        subprocess.run([self.driver, command, self.case, weights, *files], check=True)
        return np.fromfile(files[1], "<f4").reshape(ROWS, -1)

    def check_predictions(self, ours, what):
        theirs = np.asarray(self.model.predict(self.inputs, batch_size=ROWS, verbose=0))
        spread, difference = np.ptp(theirs, axis=0).max(), np.abs(ours - theirs).max()
        print(f"{what}: largest difference {difference:.1e}, predictions in {theirs.min():.3g} .. {theirs.max():.3g}")
        assert spread > 100 * self.tolerance, f"predictions differ by {spread} between inputs: they prove nothing"
        assert difference <= self.tolerance * max(1, np.abs(theirs).max()), difference

    def check_lockstep_to_keras(self):
        saved, again = self.folder / "lockstep.weights.h5", self.folder / "again.weights.h5"
        ours = self.lockstep("save", saved)
        self.model.load_weights(saved)
        self.check_predictions(ours, "saved by lockstep, loaded by Keras")
        self.model.save_weights(again)
        assert contents(saved) == contents(again), "the file is not the one that Keras writes for these weights"

    def shift(self):
        """Moves biases, scales and moving statistics away from their initial 0 and 1, which would hide mixed-up
        weights."""
        for variable in self.model.variables:
            if len(variable.shape) == 1:
                variable.assign(np.asarray(variable.value) + self.random.uniform(-0.25, 0.25, variable.shape))
        for layer in self.model.layers:
            if isinstance(layer, layers.Normalization):
                layer.finalize_state()  # it computes with copies of its weights

    def calibrate(self):
        """Sets the batch normalizations' moving statistics to those of the inputs."""
        for layer in self.model.layers:
            if isinstance(layer, layers.BatchNormalization):
                layer.momentum = 0
        self.model(self.inputs, training=True)

    def check_copy(self):
        """A file of Keras' that lockstep has read must be written in the same form."""
        saved, copied = self.folder / "keras.weights.h5", self.folder / "copied.weights.h5"
        self.model.save_weights(saved)
        subprocess.run([self.driver, "copy", self.case, saved, copied], check=True)
        assert contents(saved) == contents(copied), "the file is not the one that Keras writes for these weights"

    def check_keras_to_lockstep(self):
        self.model.compile("adam", "mse")  # Keras also saves the optimizer's state
        saved = self.folder / "keras.weights.h5"
        self.model.save_weights(saved)
        assert "optimizer/vars" in contents(saved)
        self.check_predictions(self.lockstep("predict", saved), "saved by Keras, loaded by lockstep")


def check_parameters(driver, case, model):
    ours = int(subprocess.run([driver, "parameters", case], check=True, capture_output=True).stdout)
    print(f"{case}: {ours} parameters")
    assert ours == model.count_params(), f"Keras has {model.count_params()}"


def check(driver, case, make):
    print(f"== {case}", flush=True)
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    model = make()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(driver, case, model, folder)
        if case in DEEP_MODELS:
            comparison.shift()
            comparison.calibrate()
            comparison.check_copy()
        else:
            comparison.check_lockstep_to_keras()
            comparison.shift()
        comparison.check_keras_to_lockstep()
    check_parameters(driver, case, model)
    if case in FULL_MODELS:
        make_full, parameters = FULL_MODELS[case]
        full = make_full()
        assert full.count_params() == parameters
        check_parameters(driver, f"full_{case}", full)


def main(models=MODELS):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(models)}; all if none is named")
    arguments = parser.parse_args()
    for case in arguments.cases or models:
        check(arguments.driver, case, models[case])


if __name__ == "__main__":
    main()
