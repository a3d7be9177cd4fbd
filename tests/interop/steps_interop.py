"""Compares the loss, gradients and moving statistics of a training step with Keras', and the losses of three steps over
two replicas with those over one.

The models are those of keras.applications, which Keras saves with random weights, the zoo's other models, and those
that the programs of tools/examples/ have saved. They train without dropout and with synchronized batch normalization; Keras computes in
float64.

usage: steps_interop.py --driver FILES_DRIVER [--examples FOLDER] [--all | MODEL ...]
FOLDER is the working directory of the programs.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import keras_backend

keras_backend.choose("jax")

import applications
import example_models
import jax
import keras
import numpy as np
from example_models import sized

ROWS = 8
# Of losses and of the median weight, relative. The deepest models let rounding errors grow from layer to layer: theirs is
# twice the difference of Keras' own gradients in float32 from those in float64, but at most MOST.
TOLERANCE = 1e-4
MOST = 0.05
# Of every weight. Rounding errors decide on which side of a kink the input of a ReLU lies that is almost there, so that
# some gradients of deep models in f32 differ by 6 % from those in float64, also in Keras.
LARGEST = 0.1
ZOO = {"gpt": (None,), "unet": (8, 12, 3), "vit": (8, 12, 3)}  # the shapes of the inputs
# --all compares all models; JAX compiles most of them for minutes.
QUICK = ["MobileNetV3Small", *ZOO]
OF_IDS = {"gpt", *example_models.OF_IDS}  # models whose inputs are ids below 9
RATES = ("rate", "drop_path_rate", "_dropout")  # of dropout


def inputs(name, shape):
    random = np.random.default_rng(1)
    shape = (ROWS, *sized(shape))
    if name in OF_IDS:
        return random.integers(0, 9, shape).astype("<f4")
    return random.uniform(0, 128 if name in applications.MODELS else 1, shape).astype("<f4")


def made_by_lockstep(driver, name, path):
    """A file beside `path` with one of the zoo's models with random weights."""
    folder = path.parent / "made"
    folder.mkdir()
    inputs(name, ZOO[name]).tofile(folder / "input_0")
    subprocess.run([driver, "save", name, folder / "model.keras", folder], check=True)
    return folder / "model.keras"


def saved_model(driver, name, path):
    """The model, after it was saved as `path`, without dropout and with synchronized batch normalization."""
    if name in applications.MODELS:
        model = applications.made(name)
    else:
        file = made_by_lockstep(driver, name, path) if name in ZOO else name
        model = keras.saving.load_model(file, compile=False)
    for layer in model._flatten_layers():
        for rate in RATES:
            if isinstance(getattr(layer, rate, None), float):
                setattr(layer, rate, 0.0)
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.synchronized = True
    model.save(path)
    return model


def keras_step(model, x, targets, dtype="float64"):
    """The loss, and for each weight its gradient or, if it is not trainable, its new value."""
    config = json.dumps(keras.saving.serialize_keras_object(model)).replace("float32", dtype)
    config = config.replace('"synchronized": true', '"synchronized": false')  # which Keras does not know on JAX
    with jax.enable_x64():
        precise = keras.saving.deserialize_keras_object(json.loads(config))
        precise.set_weights([np.asarray(value, dtype) for value in model.get_weights()])
        variables = precise.trainable_variables, precise.non_trainable_variables

        def loss_of(trainable, others):
            ys, others = precise.stateless_call(trainable, others, x.astype(dtype), training=True)
            return sum(keras.ops.mean((y - t) ** 2) for y, t in zip(keras.tree.flatten(ys), targets, strict=True)), others

        compiled = jax.jit(jax.value_and_grad(loss_of, has_aux=True))
        (loss, others), gradients = compiled(*([each.value for each in some] for some in variables))
    results = {each.path: value for some, values in zip(variables, (gradients, others)) for each, value in zip(some, values)}
    return float(loss), [np.asarray(results[weight.path]) for weight in precise.weights]


def differences(values, others):
    """The distance of each tensor from that of `others`, relative to the norm of the latter or, if that is smaller, to
    a thousandth of the median norm: some gradients, such as those of biases before a batch normalization, are 0 but for
    rounding errors."""
    norms = np.array([np.linalg.norm(other.ravel()) for other in others])
    distances = np.array([np.linalg.norm((a - b).ravel()) for a, b in zip(values, others, strict=True)])
    return distances / np.maximum(norms, np.median(norms) / 1000)


class Files:
    """A model's file and the files beside it."""

    def __init__(self, driver, path, model):
        self.driver, self.path, self.model = driver, path, model

    def lockstep(self, command, *words):
        words = [self.driver, command, self.path, self.path.parent, *map(str, words)]
        return [float(line) for line in subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.split()]

    def gradients(self, x):
        """lockstep's loss, and the values that keras_step returns."""
        x.tofile(self.path.with_name("input_0"))
        loss = self.lockstep("gradients")[0]
        before = self.model.get_weights()
        self.model.load_weights(self.path.with_name("gradients.weights.h5"))
        gradients = self.model.get_weights()
        self.model.set_weights(before)
        return loss, gradients


def check(driver, name):
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model = saved_model(driver, name, path)
        name = pathlib.Path(name).stem
        print(f"== {name}: {len(model.weights)} weights", flush=True)
        files = Files(driver, path, model)
        random = np.random.default_rng(2)
        targets = [random.standard_normal((ROWS, *sized(output.shape[1:]))).astype("<f4") for output in model.outputs]
        for number, target in enumerate(targets):
            target.tofile(path.with_name(f"target_{number}"))
        x = inputs(name, model.input_shape[1:])
        our_loss, ours = files.gradients(x)
        loss, theirs = keras_step(model, x, targets)
        trainable = [any(weight is each for each in model.trainable_weights) for weight in model.weights]
        squares = sum(np.sum(value**2) for value, yes in zip(theirs, trainable, strict=True) if yes)
        learning_rate = 0.1 * loss / squares  # a step lowers the loss by about a tenth
        one, two = (files.lockstep("curve", replicas, learning_rate) for replicas in (1, 2))
    apart = differences(ours, theirs)
    tolerance = TOLERANCE
    if np.median(apart) > TOLERANCE:
        tolerance = 2 * np.median(differences(keras_step(model, x, targets, "float32")[1], theirs))
    print(f"  loss {our_loss:.7f}, in Keras {loss:.7f}; relative differences: median {np.median(apart):.1e}, largest"
          f" {apart.max():.1e} ({model.weights[apart.argmax()].path}); tolerance {tolerance:.1e}")
    print(f"  losses over one replica {one}, over two {two}; {time.monotonic() - started:.0f} s", flush=True)
    assert tolerance <= MOST, "rounding errors are so large that this proves nothing"
    assert abs(our_loss - loss) <= tolerance * loss
    assert np.median(apart) <= tolerance and apart.max() <= LARGEST
    assert one[2] < 0.95 * one[0], "three steps hardly lower the loss: they prove nothing"
    np.testing.assert_allclose(two, one, rtol=tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--all", action="store_true", help="compare all models")
    parser.add_argument("--examples", type=pathlib.Path, help="the folder of the examples' models")
    names = [*applications.MODELS, *ZOO]
    parser.add_argument("models", nargs="*", help=f"of {', '.join(names)}; {', '.join(QUICK)} if none is named")
    arguments = parser.parse_args()
    files = [arguments.examples / f"{name}.keras" for name in example_models.SHAPES] if arguments.examples else []
    for name in [*files, *(names if arguments.all else arguments.models or QUICK)]:
        check(arguments.driver, name)


if __name__ == "__main__":
    main()
