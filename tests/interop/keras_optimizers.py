"""Compares lockstep's optimizers, constraints and schedules with those of Keras, on the same gradients.

usage: keras_optimizers.py --driver OPTIMIZER_DRIVER
"""

import argparse
import pathlib
import subprocess
import tempfile

import keras_backend

keras_backend.choose("numpy")

import keras
import numpy as np
from keras import constraints, optimizers
from keras.optimizers import schedules

STEPS = 50
# Over all steps, relative to the largest parameter if that exceeds 1. After the first step, Keras' 1 - beta_2^t has
# lost three digits in f32.
TOLERANCE = 2e-6

# optimizer_driver.cpp has the same cases.
OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: optimizers.Adam(0.01),
    "amsgrad": lambda: optimizers.Adam(0.01, amsgrad=True),
    "adamw": lambda: optimizers.AdamW(0.01),
    "rmsprop": lambda: optimizers.RMSprop(0.01, momentum=0.9),
    "centered": lambda: optimizers.RMSprop(0.01, epsilon=1e-3, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.1),
    "lamb": lambda: optimizers.Lamb(0.01),
    "lion": lambda: optimizers.Lion(0.01, weight_decay=0.1),
    "nadam": lambda: optimizers.Nadam(0.01),
    "muon": lambda: optimizers.Muon(0.01),
    "muon_with_all": lambda: without_bias_decay(
        optimizers.Muon(0.01, adam_weight_decay=0.1, nesterov=False, rms_rate=None, ns_steps=2, clipnorm=0.5, use_ema=True)
    ),
    "adamax": lambda: optimizers.Adamax(0.01),
    "adadelta": lambda: optimizers.Adadelta(1.0),
    "adafactor": lambda: optimizers.Adafactor(0.05),
    "adafactor_with_all": lambda: optimizers.Adafactor(
        0.05, beta_2_decay=-0.5, epsilon_1=1e-6, epsilon_2=0.5, clip_threshold=0.5, relative_step=False, weight_decay=0.1
    ),
    "ftrl": lambda: optimizers.Ftrl(0.1),
    "ftrl_with_all": lambda: optimizers.Ftrl(
        0.1,
        learning_rate_power=-0.75,
        l1_regularization_strength=0.01,
        l2_regularization_strength=0.1,
        l2_shrinkage_regularization_strength=0.05,
        beta=0.5,
    ),
    "clipvalue": lambda: optimizers.SGD(0.1, clipvalue=0.2),
    "clipnorm": lambda: optimizers.SGD(0.1, clipnorm=0.5),
    "global_clipnorm": lambda: optimizers.Adam(0.01, global_clipnorm=0.5),
    "accumulation": lambda: optimizers.Adam(
        schedules.ExponentialDecay(0.01, 10, 0.5), gradient_accumulation_steps=4
    ),
    "average": lambda: optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9),
    "overwritten_average": lambda: optimizers.Adam(
        0.01, weight_decay=0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=7
    ),
    "lamb_with_all": lambda: without_bias_decay(optimizers.Lamb(0.01, weight_decay=0.1, clipnorm=0.5, use_ema=True)),
    "max_norm": lambda: optimizers.SGD(0.1, momentum=0.9),
    "unit_norm": lambda: optimizers.Adam(0.01, clipnorm=0.5),
    "min_max_norm": lambda: optimizers.SGD(0.1, momentum=0.9),
    "constrained_accumulation": lambda: optimizers.SGD(0.1, gradient_accumulation_steps=4),
    "constrained_average": lambda: optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=7),
}
# Constraints of the kernel and of the bias, for cases that have any.
CONSTRAINTS = {
    "max_norm": (constraints.MaxNorm(0.75), constraints.NonNeg()),
    "unit_norm": (constraints.UnitNorm([0, 1]), constraints.UnitNorm()),
    "min_max_norm": (constraints.MinMaxNorm(0.5, 1, rate=0.25, axis=1), constraints.MaxNorm()),
    "constrained_accumulation": (constraints.MinMaxNorm(0.5, 1, rate=0.25, axis=-1), constraints.NonNeg()),
    "constrained_average": (constraints.UnitNorm(), constraints.MaxNorm(0.5)),
}
SCHEDULES = {
    "exponential": schedules.ExponentialDecay(0.1, 7, 0.5),
    "staircase": schedules.ExponentialDecay(0.1, 7, 0.5, staircase=True),
    "inverse": schedules.InverseTimeDecay(0.1, 7, 0.5),
    "piecewise": schedules.PiecewiseConstantDecay([5, 20], [0.1, 0.05, 0.01]),
    "polynomial": schedules.PolynomialDecay(0.1, 20, power=0.5),
    "cycle": schedules.PolynomialDecay(0.1, 7, cycle=True),
    "cosine": schedules.CosineDecay(0.1, 20, alpha=0.1),
    "warm_up": schedules.CosineDecay(0.0, 20, warmup_target=0.1, warmup_steps=5),
    "restarts": schedules.CosineDecayRestarts(0.1, 5, m_mul=0.9),
}


def without_bias_decay(optimizer):
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


def parameters_of_keras(name, gradients):
    start = np.cumsum(np.full(20, np.float32(0.1)), dtype=np.float32) - np.float32(1)
    kernel = keras.Variable(start.reshape(4, 5), dtype="float64", name="kernel")
    bias = keras.Variable(start[:7], dtype="float64", name="bias")
    kernel.constraint, bias.constraint = CONSTRAINTS.get(name, (None, None))
    optimizer = OPTIMIZERS[name]()
    for row in gradients.astype("f8"):
        optimizer.apply([row[:20].reshape(4, 5), row[20:]], [kernel, bias])
    optimizer.finalize_variable_values([kernel, bias])
    return np.concatenate([np.asarray(kernel.value).ravel(), np.asarray(bias.value)])


def check_optimizers(driver, folder):
    random = np.random.default_rng(1)
    gradients = (random.normal(size=(STEPS, 27)) * 10.0 ** -random.integers(0, 4, (1, 27))).astype("<f4")
    gradients.tofile(folder / "gradients")
    worst = {}
    for name in OPTIMIZERS:
        theirs = parameters_of_keras(name, gradients)
        for replicas in (1, 2):  # halves add up to the same bits
            subprocess.run([driver, name, str(replicas), folder / "gradients", folder / "outputs"], check=True)
            ours = np.fromfile(folder / "outputs", "<f4")
            difference = np.abs(ours - theirs).max() / max(1, np.abs(theirs).max())
            worst[name] = max(worst.get(name, 0), difference)
        print(f"{name}: largest difference {worst[name]:.1e} after {STEPS} steps")
    too_far = {name: value for name, value in worst.items() if not value <= TOLERANCE}
    assert not too_far, too_far


def check_schedules(driver, folder):
    for name, schedule in SCHEDULES.items():
        subprocess.run([driver, name, str(STEPS), folder / "outputs"], check=True)
        ours = np.fromfile(folder / "outputs", "<f8")
        theirs = np.array([float(schedule(step)) for step in range(STEPS)])
        print(f"{name}: largest difference {np.abs(ours - theirs).max():.1e}")
        assert np.abs(ours - theirs).max() <= 1e-7, (ours, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check_optimizers(arguments.driver, pathlib.Path(folder))
        check_schedules(arguments.driver, pathlib.Path(folder))


if __name__ == "__main__":
    main()
