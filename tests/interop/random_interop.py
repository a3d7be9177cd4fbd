"""Compares random ops, and the results in training of layers that change their input at random, with Keras'.

Ops: lockstep's numbers must have the distribution of Keras' numbers, which must differ from that of a similar call.

Layers: where a range has one number, both libraries give the same result. Otherwise, a check finds the number that
lockstep drew: Keras' layer must give lockstep's result for it. Each check must also hold for Keras' own result.

usage: random_interop.py --driver INTEROP_DRIVER [CASE ...]
"""

import argparse
import math
import pathlib
import subprocess
import tempfile

import keras_backend

keras_backend.choose("numpy")

import keras
import numpy as np
from keras import layers
from keras.src.applications.convnext import StochasticDepth

SHAPE = (500, 8, 7, 3)
TOLERANCE = 1e-5
DRAWS = 100_000
MOST_DISTANT = 0.01  # two samples of DRAWS numbers of one distribution: once in 10,000 times


def close(a, b):
    return np.isclose(a, b, TOLERANCE, TOLERANCE)


def is_determined(layer, x, y):
    """Without a choice: the layer's result."""
    assert close(y, np.asarray(layer(x, training=True))).all(), "another result than Keras'"


def is_flipped(layer, x, y):
    """Some images are flipped, the others are not."""
    results = [layer.transform_images(x, {"flips": np.full((len(x), 1, 1, 1), flip)}) for flip in (False, True)]
    kept, flipped = [close(y, np.asarray(result)).all((1, 2, 3)) for result in results]
    assert (kept ^ flipped).all(), "images that are neither kept nor flipped"
    check_share(flipped, 0.5)


def is_cropped(layer, x, y):
    """Cut out of all images at one place."""
    places = [(top, left) for top in range(9 - layer.height) for left in range(8 - layer.width)]
    assert any(close(y, np.asarray(layer.transform_images(x, place))).all() for place in places), "cut out of no place"


def has_contrast(layer, x, y):
    """A contrast factor for each image: that of the pixel inside the value range that differs most from the mean."""
    differences = x - x.mean((1, 2), keepdims=True)
    inside = (abs(y) < 0.999) * abs(differences)
    image = np.arange(len(x))
    most = inside.reshape(len(x), -1).argmax(1)
    of_most = [values.reshape(len(x), -1)[image, most] for values in (y - x + differences, differences)]
    factors = of_most[0] / of_most[1]
    assert close(y, np.asarray(layer.transform_images(x, {"contrast_factor": factors.reshape(-1, 1, 1, 1)}))).all()
    low, high = 1 - layer.factor[0], 1 + layer.factor[1]
    assert low - TOLERANCE <= factors.min() < low + 0.02 and high - 0.02 < factors.max() <= high + TOLERANCE, factors


def check_share(chosen, rate):
    deviation = math.sqrt(rate * (1 - rate) / chosen.size)
    assert abs(chosen.mean() - rate) < 5 * deviation, f"{chosen.mean()} are chosen instead of {rate}"


def drops(*axes):
    """Drops all elements along `axes` together."""

    def check(layer, x, y):
        rate = layer.drop_path_rate if isinstance(layer, StochasticDepth) else layer.rate
        dropped = (y == 0).all(axes, keepdims=True)
        assert close(y, np.where(dropped, 0, x / (1 - rate))).all(), "elements that are neither dropped nor scaled"
        check_share(dropped, rate)

    return check


def is_dropped_to_selus_lowest(layer, x, y):
    rate, lowest = layer.rate, -1.7580993408473766
    scale = ((1 - rate) * (1 + rate * lowest**2)) ** -0.5
    shift = -scale * lowest * rate
    dropped = close(y, scale * lowest + shift)
    assert close(y, np.where(dropped, scale * lowest + shift, scale * x + shift)).all(), "neither dropped nor scaled"
    check_share(dropped, rate)


def check_normal(values, mean, deviation):
    """By the first four moments."""
    z = (values - mean) / deviation
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(variance / z.size), f"moment {power} of {z.size} numbers"


def has_noise(layer, x, y):
    check_normal((y - x).astype(np.float64), 0, layer.stddev)


def has_factors(layer, x, y):
    check_normal((y / x)[abs(x) > 0.1].astype(np.float64), 1, math.sqrt(layer.rate / (1 - layer.rate)))


CASES = {
    "flip_horizontal": (layers.RandomFlip("horizontal"), is_flipped),
    "flip_vertical": (layers.RandomFlip("vertical"), is_flipped),
    "flip": (layers.RandomFlip(), is_flipped),
    "crop": (layers.RandomCrop(5, 4), is_cropped),
    "crop_center": (layers.RandomCrop(8, 4), is_determined),
    "translation": (layers.RandomTranslation((0.2, 0.2), (-0.3, -0.3)), is_determined),
    "translation_nearest": (layers.RandomTranslation((-0.3, -0.3), (0.6, 0.6), fill_mode="constant",
                                                     interpolation="nearest", fill_value=0.5), is_determined),
    "zoom": (layers.RandomZoom((0.3, 0.3)), is_determined),
    "zoom_in": (layers.RandomZoom((-0.4, -0.4), (0.9, 0.9), fill_mode="nearest"), is_determined),
    "rotation": (layers.RandomRotation((0.1, 0.1)), is_determined),
    "rotation_nearest": (layers.RandomRotation((-0.37, -0.37), fill_mode="wrap", interpolation="nearest"),
                         is_determined),
    "brightness": (layers.RandomBrightness((0.3, 0.3), value_range=(-1, 1)), is_determined),
    "contrast": (layers.RandomContrast((0.5, 0.75), value_range=(-1, 1)), has_contrast),
    "dropout": (layers.Dropout(0.3), drops()),
    "dropout_of_rows": (layers.Dropout(0.3, noise_shape=(None, None, 1, 1)), drops(2, 3)),
    "alpha_dropout": (layers.AlphaDropout(0.3), is_dropped_to_selus_lowest),
    "spatial_dropout": (layers.SpatialDropout2D(0.3), drops(1, 2)),
    "stochastic_depth": (StochasticDepth(0.3), drops(1, 2, 3)),
    "gaussian_noise": (layers.GaussianNoise(0.4), has_noise),
    "gaussian_dropout": (layers.GaussianDropout(0.3), has_factors),
}  # fmt: skip


def drawn(op, *arguments):
    return lambda seed: getattr(keras.random, op)(*arguments, seed=seed)


def shuffled_by_halves(seed):
    return np.concatenate([keras.random.shuffle(half, seed=seed) for half in np.split(ORDER, 2)])


NORMAL = ((DRAWS,), 1, 0.5)
LOGITS = np.array([[0, 1, -1, 0.5], [2, 0, -np.inf, 0]])
ORDER = np.arange(DRAWS, dtype=np.float32)
ONES = np.ones(DRAWS, np.float32)
# Keras' call, a similar one, and the bounds of the numbers.
OPS = {
    "normal": (drawn("normal", *NORMAL), drawn("truncated_normal", *NORMAL), -math.inf, math.inf),
    "truncated_normal": (drawn("truncated_normal", *NORMAL), drawn("normal", *NORMAL), 0, 2),
    "uniform": (drawn("uniform", (DRAWS,), -2, 1), drawn("uniform", (DRAWS,), -2, 1.1), -2, 1),
    "randint": (drawn("randint", (DRAWS,), 3, 20), drawn("randint", (DRAWS,), 3, 19), 3, 19),
    "binomial": (drawn("binomial", (DRAWS,), 5, 0.25), drawn("binomial", (DRAWS,), 5, 0.27), 0, 5),
    "categorical": (drawn("categorical", LOGITS, DRAWS // 2),
                    drawn("categorical", LOGITS + [0, 0.3, 0, 0], DRAWS // 2), 0, 3),
    "shuffle": (drawn("shuffle", ORDER), shuffled_by_halves, 0, DRAWS - 1),
    "dropout": (drawn("dropout", ONES, 0.25), drawn("dropout", ONES, 0.27), 0, 1.34),
}  # fmt: skip


def distance(a, b):
    """The two-sample Kolmogorov-Smirnov statistic: the largest difference between the distribution functions."""
    both = np.concatenate([a, b])
    a, b = [np.searchsorted(np.sort(x), both, "right") / x.size for x in (a, b)]
    return abs(a - b).max()


def check_draws(first, following, again, low, high):
    """Three draws: with a key, with the next one, and with the first one again."""
    assert np.array_equal(first, again) and not np.array_equal(first, following)
    assert low <= first.min() and first.max() <= high, f"numbers from {first.min()} to {first.max()}"
    first, following = [(x - x.mean(-1, keepdims=True)).ravel() for x in (first, following)]
    assert abs(np.corrcoef(first, following)[0, 1]) < 5 / math.sqrt(DRAWS), "correlated draws"


def check_same_values_and_moments(a, b):
    """The values, if there are few, and the first four moments, after division by the samples' scale."""
    values = [np.unique(x) for x in (a, b)]
    assert values[1].size > 20 or np.array_equal(*values), values
    a, b = [(x - b.mean()) / b.std() for x in (a, b)]
    for power in range(1, 5):
        deviation = math.sqrt(((a**power).var() + (b**power).var()) / DRAWS)
        assert abs((a**power).mean() - (b**power).mean()) < 5 * deviation, f"moment {power}"


def check_op(name, dtype, ours):
    """`ours`: lockstep's three draws."""
    draw, similar, low, high = OPS[name]
    seed = keras.random.SeedGenerator(1)
    theirs = [np.asarray(draw(seed)), np.asarray(draw(seed)), np.asarray(draw(keras.random.SeedGenerator(1)))]
    assert dtype == {"float32": "f32", "int32": "i32"}[theirs[0].dtype.name], dtype
    ours = [numbers.reshape(theirs[0].shape) for numbers in ours]
    for draws in (theirs, ours):
        check_draws(*draws, low, high)
        assert name != "shuffle" or np.array_equal(np.sort(draws[0]), ORDER), "not a permutation"

    def compared(numbers):  # the numbers of a row of logits, and the distances of a shuffle
        if name == "categorical":
            return (numbers + [[0], [4]]).ravel()
        return numbers - ORDER if name == "shuffle" else numbers.astype(np.float64)

    check_same_values_and_moments(compared(ours[0]), compared(theirs[0]))
    to_keras, to_similar = [distance(compared(ours[0]), compared(y)) for y in (theirs[0], np.asarray(similar(seed)))]
    print(f"{name}: distance {to_keras:.4f}, to a similar distribution {to_similar:.4f}", flush=True)
    assert to_keras < MOST_DISTANT < to_similar


def check_ops(driver):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([driver, "draw", folder], check=True, capture_output=True, text=True)
        dtypes = dict(line.split() for line in run.stdout.splitlines())
        assert dtypes.keys() == OPS.keys(), f"other ops than the driver's: {sorted(dtypes.keys() ^ OPS.keys())}"
        for name in OPS:
            draws = [np.fromfile(pathlib.Path(folder) / f"{name}{i}", "<f4") for i in range(3)]
            check_op(name, dtypes[name], draws)


def check(driver, case):
    keras.utils.set_random_seed(1)
    layer, check_result = CASES[case]
    x = np.random.default_rng(1).uniform(-1, 1, SHAPE).astype("<f4")
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("inputs", "outputs")]
        files[0].write_bytes(x.tobytes())
        subprocess.run([driver, "train", case, *files], check=True)
        ours = np.fromfile(files[1], "<f4")
    theirs = np.asarray(layer(x, training=True))
    for name, y in (("Keras", theirs), ("lockstep", ours.reshape(theirs.shape))):
        print(f"{case}: {name}", flush=True)
        assert y.shape[0] == len(x) and not np.array_equal(x, y), "nothing was changed"
        check_result(layer, x, y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("cases", nargs="*", help=f"ops, {', '.join(CASES)}; all if none is named")
    arguments = parser.parse_args()
    for case in arguments.cases or ["ops", *CASES]:
        if case == "ops":
            check_ops(arguments.driver)
        else:
            check(arguments.driver, case)


if __name__ == "__main__":
    main()
