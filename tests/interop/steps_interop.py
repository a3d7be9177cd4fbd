"""Compares the loss, gradients and moving statistics of a training step with Keras', the losses of three steps over two
replicas with those over one, and the loss curves of trainings over two and three replicas with those over one and in
Keras.

The models are those of keras.applications, which Keras saves with random weights, the zoo's other models, and those
that the programs of tools/examples/ have saved. They train without dropout and with synchronized batch normalization,
so that all replicas together compute what one does, but for rounding; Keras computes in float64.

usage: steps_interop.py --driver FILES_DRIVER [--examples FOLDER] [--all | MODEL ...]
FOLDER is the working directory of the programs. Curves are compared with --all and for the models that are named.
"""

import argparse
import functools
import itertools
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
from training_step import Files, KerasTraining, differences

ROWS = 8
# Relative tolerances: of losses and of the median weight, of every weight, and of the fall of the loss over two replicas.
# Rounding errors decide on which side of a kink the input of a ReLU lies that is almost there, and one such ReLU of a late
# layer changes all gradients before it. A fault shows for all inputs, a kink for few: each difference is the least of
# those for up to INPUTS inputs.
TOLERANCE, LARGEST, FALL = 1e-4, 3e-3, 1e-3
INPUTS = 4
# The deepest models let rounding errors grow from layer to layer. Where the differences exceed these tolerances for all
# inputs, the tolerance is NOISE times what rounding changes: of Keras' gradients in float32, of lockstep's if the inputs
# change by up to 1e-6, of the losses if the rows are in another order. It is at most MOST, and MOST_OF_WEIGHT for the
# weight with the largest difference: rounding changes one of ResNet101 by a tenth, in Keras or in lockstep.
NOISE, MOST, MOST_OF_WEIGHT = 3, 0.1, 0.3
ZOO = {"gpt": (None,), "unet": (8, 12, 3), "vit": (8, 12, 3)}  # the shapes of the inputs
OF_IDS = {"gpt", *example_models.OF_IDS}  # models whose inputs are ids below 9
# Whose curves are compared: the smallest model of each family of keras.applications, and the zoo's others. Those in
# KERAS_CURVES are also compared with Keras, whose float64 takes minutes for the others.
CURVES = ["ConvNeXtTiny", "DenseNet121", "EfficientNetB0", "EfficientNetV2B0", "InceptionResNetV2", "InceptionV3",
          "MobileNet", "MobileNetV2", "MobileNetV3Small", "NASNetMobile", "ResNet50", "ResNet50V2", "VGG16", "Xception",
          *ZOO]
KERAS_CURVES = ["MobileNetV3Small", *ZOO]
BATCHES, EPOCHS, CLASSES = 3, 8, 4
CURVE_TOLERANCE = 1e-5  # of the losses, relative; at least
RATES = ("rate", "drop_path_rate", "_dropout")  # of dropout


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Keras' depthwise_conv, as products with matrices that choose the windows: for the gradients of XLA's own, a CPU
    takes time in proportion to the square of the channels."""
    assert kernel.shape[3] == 1 and dilation_rate in (1, (1, 1)), (kernel.shape, dilation_rate)
    strides = (strides, strides) if isinstance(strides, int) else strides
    for axis, stride, size in zip((1, 3), strides, kernel.shape):
        rows = inputs.shape[axis]
        padded = max((-(-rows // stride) - 1) * stride + size - rows, 0) if padding == "same" else 0
        starts = np.arange((rows + padded - size) // stride + 1) * stride - padded // 2
        chosen = starts[:, None] + np.arange(size) == np.arange(rows)[:, None, None]
        windows = jax.numpy.tensordot(inputs, chosen.astype(inputs.dtype), ((axis,), (0,)))
        inputs = jax.numpy.moveaxis(windows, (-2, -1), (axis, axis + 1))
    return jax.numpy.einsum("nhiwjc,ijc->nhwc", inputs, kernel[..., 0])


def initial_weights(random):
    """Uniform and normal numbers for Keras' initializers, for whose own JAX compiles a program for each shape."""
    keras.src.backend.random.uniform = lambda shape, minval=0, maxval=1, dtype=None, seed=None: random.uniform(
        minval, maxval, shape).astype("<f4")
    for name in ("normal", "truncated_normal"):
        setattr(keras.src.backend.random, name, lambda shape, mean=0, stddev=1, dtype=None, seed=None: random.normal(
            mean, stddev, shape).astype("<f4"))


def check_depthwise_conv():
    random = np.random.default_rng(6)
    x = random.standard_normal((2, 6, 8, 3)).astype("<f4")
    kernels = [random.standard_normal((size, size, 3, 1)).astype("<f4") for size in (2, 3)]
    for kernel, stride, padding in itertools.product(kernels, (1, 2), ("same", "valid")):
        expected = keras.src.backend.nn.depthwise_conv(x, kernel, stride, padding, "channels_last")
        np.testing.assert_allclose(depthwise_conv(x, kernel, stride, padding), expected, rtol=1e-4, atol=1e-5)


check_depthwise_conv()
keras.src.backend.nn.depthwise_conv = depthwise_conv


def inputs(name, shape, rows=ROWS, seed=1):
    random = np.random.default_rng(seed)
    shape = (rows, *sized(shape))
    if name in OF_IDS:
        return random.integers(0, 9, shape).astype("<f4")
    return random.uniform(0, 128 if name in applications.MODELS else 1, shape).astype("<f4")


def problem(name, model):
    """BATCHES of examples, each a pattern of its class with a quarter of noise, and of targets, one for each class."""
    rows = BATCHES * ROWS
    labels = np.arange(rows) % CLASSES
    random = np.random.default_rng(3)
    patterns, noise = (inputs(name, model.input_shape[1:], *choice) for choice in ((CLASSES, 4), (rows, 5)))
    x = np.where(random.random(noise.shape) < 0.25, noise, patterns[labels])
    shapes = [(CLASSES, *sized(output.shape[1:])) for output in model.outputs]
    return x, [random.standard_normal(shape).astype("<f4")[labels] for shape in shapes]


def made_by_lockstep(driver, name, path):
    """A file beside `path` with one of the zoo's models with random weights."""
    folder = path.parent / "made"
    folder.mkdir()
    inputs(name, ZOO[name]).tofile(folder / "input_0")
    subprocess.run([driver, "save", name, folder / "model.keras", folder], check=True)
    return folder / "model.keras"


def saved_model(driver, name, path):
    """The model, after it was saved as `path`, without dropout and with synchronized batch normalization."""
    initial_weights(np.random.default_rng(1))
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


def learning_rate(model, loss, gradients):
    """With which a step lowers the loss by about a tenth."""
    trainable = [any(weight is each for each in model.trainable_weights) for weight in model.weights]
    return 0.1 * loss / sum(np.sum(np.square(value, dtype=float)) for value, yes in zip(gradients, trainable) if yes)


def check_curve(name, files, training):
    """Each difference is the least of those for up to INPUTS inputs, which differ only in the order of the rows of each
    batch and, unless they are ids, in the rounding of half of the numbers. The tolerance is five times the largest
    difference so far that this makes over one replica; steps where it exceeds MOST are not compared."""
    started = time.monotonic()
    x, targets = problem(name, files.model)
    batches = [slice(first, first + ROWS) for first in range(0, len(x), ROWS)]
    files.write([x[batches[0]]], [target[batches[0]] for target in targets])
    rate = learning_rate(files.model, *files.gradients())

    def otherwise_rounded(seed):
        random = np.random.default_rng(seed)
        order = random.permuted(np.arange(len(x)).reshape(-1, ROWS), axis=1).ravel()
        up = (random.random(x.shape) < 0.5) & (name not in OF_IDS)
        return np.where(up, np.nextafter(x, np.float32(np.inf)), x)[order], [target[order] for target in targets]

    def curve(replicas, x, targets):
        files.write([x], targets)
        return files.lockstep("curve", replicas, rate, EPOCHS)

    def curve_in_keras(x, targets):
        steps = [(x[batch], [target[batch] for target in targets]) for batch in batches]
        return training.curve(steps * EPOCHS, rate)

    problems = [(x, targets), *map(otherwise_rounded, range(INPUTS - 1))]
    ones = np.array([curve(1, *each) for each in problems])
    rounding = np.maximum.accumulate(np.abs(ones[1:] / ones[0] - 1).max(axis=0))
    tolerance = np.maximum(5 * rounding, CURVE_TOLERANCE)
    compared = tolerance <= MOST

    def least_difference(other):
        least = np.inf
        for each, one in zip(problems, ones):
            least = np.minimum(least, np.abs(other(*each) / one - 1))
            if (least <= tolerance)[compared].all():
                break
        return least[compared]

    others = {"two replicas": functools.partial(curve, 2), "three replicas": functools.partial(curve, 3)}
    if name in KERAS_CURVES:
        others["Keras"] = curve_in_keras
    found = {what: least_difference(other) for what, other in others.items()}
    first, last = ones[0, :BATCHES].mean(), ones[0, -BATCHES:].mean()
    text = ", ".join(f"{what} {values.max(initial=0):.1e}" for what, values in found.items())
    print(f"  losses fall from {first:.3f} to {last:.3f}; relative differences in {compared.sum()} of {len(compared)}"
          f" steps: {text}; tolerance {tolerance[0]:.1e} to {tolerance[-1]:.1e}; {time.monotonic() - started:.0f} s",
          flush=True)
    assert last < 0.8 * first, "the loss hardly falls: its curve proves nothing"
    assert compared.sum() >= len(compared) / 2, "rounding errors are so large that the curves prove nothing"
    for what, values in found.items():
        assert (values <= tolerance[compared]).all(), f"{what}: differences {values}, tolerance {tolerance[compared]}"


class Step:
    """What lockstep computes for inputs and targets of a seed, and how far apart that is from Keras' results and, over two
    replicas, from those over one."""

    def __init__(self, name, files, training, seed):
        model, random = files.model, np.random.default_rng(seed + 1)
        self.files, self.random = files, random
        self.targets = [random.standard_normal((ROWS, *sized(output.shape[1:]))).astype("<f4") for output in model.outputs]
        self.x = inputs(name, model.input_shape[1:], seed=seed)
        files.write([self.x], self.targets)
        self.our_loss, self.ours = files.gradients()
        self.loss, self.theirs, _ = training.step([self.x], self.targets)
        self.rate = learning_rate(model, self.loss, self.theirs)
        self.one, self.two = (files.lockstep("curve", replicas, self.rate, 3) for replicas in (1, 2))
        assert self.one[2] < 0.95 * self.one[0], "three steps hardly lower the loss: they prove nothing"
        self.loss_apart = abs(self.our_loss / self.loss - 1)
        self.apart = differences(self.ours, self.theirs)
        self.fall_apart = self.of_fall(self.two)

    def of_fall(self, others):
        return np.abs(others - self.one).max() / (self.one[0] - self.one[2])

    def noise(self):
        """The differences of the median weight, of the weight with the largest one, and of the fall, by rounding."""
        of_keras = KerasTraining(self.files.model, "float32").step([self.x], self.targets)[1]
        apart = [differences(of_keras, self.theirs)]
        for _ in range(3):
            self.files.write([(self.x * (1 + self.random.uniform(-1e-6, 1e-6, self.x.shape))).astype("<f4")], self.targets)
            apart.append(differences(self.files.gradients()[1], self.ours))
        order = self.random.permutation(ROWS)
        self.files.write([self.x[order]], [target[order] for target in self.targets])
        fall = self.of_fall(self.files.lockstep("curve", 1, self.rate, 3))
        return np.array([max(map(np.median, apart)), max(map(np.max, apart)), fall])


def check_step(name, files, training):
    apart, tolerances = np.inf, np.array([TOLERANCE, LARGEST, FALL])
    for seed in range(1, INPUTS + 1):
        step = Step(name, files, training, seed)
        apart = np.minimum(apart, np.append(step.apart, [step.loss_apart, step.fall_apart]))
        of_weights, of_loss, of_fall = apart[:-2], apart[-2], apart[-1]
        found = np.array([max(np.median(of_weights), of_loss), of_weights.max(), of_fall])
        if (found <= tolerances).all():
            break
    else:
        tolerances = np.maximum(tolerances, np.minimum(NOISE * step.noise(), [MOST, MOST_OF_WEIGHT, MOST]))
    worst = files.model.weights[of_weights.argmax()].path
    print(f"  loss {step.our_loss:.7f}, in Keras {step.loss:.7f}; losses over one replica {step.one}, over two {step.two}\n"
          f"  relative differences, the least for {seed} inputs: median {np.median(of_weights):.1e}, loss {of_loss:.1e},"
          f" largest {found[1]:.1e} ({worst}), fall over two replicas {of_fall:.1e}; tolerances {tolerances}")
    assert (found <= tolerances).all(), (found, tolerances)


def check(driver, name, with_curve):
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model = saved_model(driver, name, path)
        name = pathlib.Path(name).stem
        print(f"== {name}: {len(model.weights)} weights", flush=True)
        files, training = Files(driver, path, model), KerasTraining(model)
        check_step(name, files, training)
        print(f"  {time.monotonic() - started:.0f} s", flush=True)
        if with_curve and name in CURVES:
            check_curve(name, files, training)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--all", action="store_true", help="compare all models")
    parser.add_argument("--examples", type=pathlib.Path, help="the folder of the examples' models")
    names, quick = [*applications.MODELS, *ZOO], [*applications.SMALLEST, *ZOO]
    parser.add_argument("models", nargs="*", help=f"of {', '.join(names)}; {', '.join(quick)} if none is named")
    arguments = parser.parse_args()
    files = [arguments.examples / f"{name}.keras" for name in example_models.SHAPES] if arguments.examples else []
    for name in [*files, *(names if arguments.all else arguments.models or quick)]:
        check(arguments.driver, name, with_curve=arguments.all or arguments.models)


if __name__ == "__main__":
    main()
