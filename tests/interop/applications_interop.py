"""Compares lockstep with Keras on files of the models of keras.applications.

Keras saves each model with random weights; lockstep opens the file, predicts alike and saves the file again, which Keras
opens. The zoo's model, into which lockstep loads Keras' weights, predicts alike, too, and Keras reads the zoo's weights.

usage: applications_interop.py --driver FILES_DRIVER [--all | MODEL ...]
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

import keras_backend

keras_backend.choose("numpy")

import keras
import numpy as np
from applications import CLASSES, MODELS, SMALLEST, made
from keras import layers
from keras.src.applications.convnext import LayerScale, StochasticDepth

ROWS = 4
CALIBRATION_ROWS = 32  # over fewer images some variances are so small that rounding errors grow from layer to layer
TOLERANCE, MOST = 1e-4, 0.02  # of predictions, relative to the largest one: tolerances are at least and at most these
LEGACY = ["MobileNetV3Small", "ConvNeXtTiny"]  # also compared in .h5 files
# Without them, Keras finds no class of a .h5 file of ConvNeXt. With them, it opens lockstep's file, but not its own, whose
# calls have more arguments than these layers take.
CUSTOM_OBJECTS = {"LayerScale": LayerScale, "StochasticDepth": StochasticDepth}
SMALL = [*SMALLEST, "ConvNeXtTiny"]  # the last for its .h5 file


def calibrated(name):
    """The model with weights that depend on the inputs, and these inputs."""
    model = made(name)
    size = model.input_shape[1]
    random = np.random.default_rng(2)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0  # the moving statistics become those of the inputs
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()
    brightness = random.uniform(0, 128, (CALIBRATION_ROWS, 1, 1, 1))
    images = (random.uniform(0, 128, (CALIBRATION_ROWS, size, size, 3)) + brightness).astype("<f4")
    model(images, training=True)
    return model, images[:ROWS]


def relative(difference, theirs):
    return np.abs(difference).max() / np.abs(theirs).max()


def check_predictions(ours, theirs, tolerance, what):
    difference = relative(ours - theirs, theirs)
    print(f"  {what}: relative difference {difference:.1e}, at most {tolerance:.1e}", flush=True)
    assert difference <= tolerance, difference


def tolerance_of(model, images, theirs):
    """TOLERANCE, or three times what one rounding of the inputs changes in Keras' own predictions if that is more: the
    deepest models let rounding errors grow from layer to layer."""
    spread = relative(np.ptp(theirs, axis=0), theirs)
    assert spread > 100 * TOLERANCE, f"predictions differ by {spread} between inputs: they prove nothing"
    rounded = np.asarray(model.predict(np.nextafter(images, np.float32(np.inf)), verbose=0))
    tolerance = max(TOLERANCE, 3 * relative(rounded - theirs, theirs))
    assert tolerance <= MOST, f"rounding changes predictions by up to {tolerance / 3}: they prove nothing"
    return tolerance


def predictions(driver, path):
    """Of the model in the file, for the images beside it."""
    subprocess.run([driver, "open", path, path.parent], check=True)
    return np.fromfile(path.with_name("output_0"), "<f4").reshape(-1, CLASSES)


def zoo_predictions(driver, name, model, weights):
    """Of the zoo's model with the weights in this file of Keras, which becomes a .weights.h5 file of the zoo's model."""
    opened = weights.with_name("zoo.keras")
    subprocess.run([driver, "weights", f"{name}:{model.input_shape[1]}", weights, opened], check=True)
    return predictions(driver, opened)


def check_read_back(model, weights):
    """Keras must find its own weights in the .weights.h5 file that lockstep wrote."""
    values = [np.array(variable.value) for variable in model.weights]
    for variable in model.weights:
        variable.assign(np.zeros(variable.shape))
    model.load_weights(weights)
    for variable, value in zip(model.weights, values, strict=True):
        assert np.array_equal(np.asarray(variable.value), value), variable.path
    print("  .weights.h5 saved by lockstep, read by Keras: equal", flush=True)


def check_legacy(driver, name, model, path, tolerance):
    """The .h5 file of the model, in both directions, and its weights in the zoo's model."""
    model.save(path)
    images = np.fromfile(path.with_name("input_0"), "<f4").reshape(ROWS, *model.input_shape[1:])
    theirs = np.asarray(model.predict(images, verbose=0))
    check_predictions(predictions(driver, path), theirs, tolerance, ".h5 saved by Keras, opened by lockstep")
    subprocess.run([driver, "again", path, "1"], check=True, stdout=subprocess.DEVNULL)
    again = keras.saving.load_model(path, custom_objects=CUSTOM_OBJECTS).predict(images, verbose=0)
    check_predictions(np.asarray(again), theirs, tolerance, ".h5 saved again by lockstep, opened by Keras")
    check_predictions(zoo_predictions(driver, name, model, path), theirs, tolerance, "the zoo's, with the weights of the .h5")
    zoo = path.with_name("zoo.h5")
    subprocess.run([driver, "weights", f"{name}:{model.input_shape[1]}", path, zoo], check=True)
    opened = keras.saving.load_model(zoo, custom_objects=CUSTOM_OBJECTS).predict(images, verbose=0)
    check_predictions(np.asarray(opened), theirs, tolerance, "the zoo's .h5, opened by Keras")


def check(driver, name):
    started = time.monotonic()
    model, images = calibrated(name)
    print(f"== {name}: {model.count_params()} parameters", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model.save(path)
        images.tofile(path.with_name("input_0"))
        theirs = np.asarray(model.predict(images, verbose=0))
        ours = predictions(driver, path)
        tolerance = tolerance_of(model, images, theirs)
        check_predictions(ours, theirs, tolerance, "saved by Keras, opened by lockstep")
        weights = path.with_name("model.weights.h5")
        model.save_weights(weights)
        check_predictions(zoo_predictions(driver, name, model, weights), theirs, tolerance, "the zoo's, with Keras' weights")
        check_read_back(model, weights)
        subprocess.run([driver, "again", path, "1"], check=True, stdout=subprocess.DEVNULL)
        again = np.asarray(keras.saving.load_model(path).predict(images, verbose=0))
        check_predictions(again, theirs, tolerance, "saved again by lockstep, opened by Keras")
        if name in LEGACY:
            check_legacy(driver, name, model, path.with_name("model.h5"), tolerance)
    print(f"  {time.monotonic() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--all", action="store_true", help="compare all models")
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; {', '.join(SMALL)} if none is named")
    arguments = parser.parse_args()
    for name in MODELS if arguments.all else arguments.models or SMALL:
        check(arguments.driver, name)


if __name__ == "__main__":
    main()
