"""Trains random models with Keras' fit and with lockstep's, over 1, 2, 3 and 5 replicas, and compares the results.

Compared are the order and the logs of all events of callbacks, also of an evaluation and a prediction of the validation
data after each fit, and in the end the weights and the optimizer's state.

How far rounding may separate two correct trainings depends on the training: Keras does each one a second time, from
weights and inputs that differ by about 1e-6 of their size, which is some tens of f32 roundings, and by another factor
in each row, since batch normalization cancels a common one. lockstep may differ by a small multiple of the difference
between Keras' two results. A case where that is not small compared with the change by training proves nothing; such
cases are counted.

usage: fit_fuzz.py --driver FIT_DRIVER [--seconds N] [--from SEED | --seed SEED]
"""

import argparse
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import keras_backend

keras_backend.choose("jax")
os.environ["OMP_NUM_THREADS"] = "1"

import h5py
import jax
import keras
import numpy as np
from keras import layers

from fit_cases import Case


def leaky_relu(x, negative_slope=0.2):
    """Uses TensorFlow's gradient at 0: the slope; Keras with JAX has 1. Zero weights make such results common."""
    return jax.numpy.where(x > 0, x, negative_slope * x)


def selu(x):
    """Uses TensorFlow's gradient at 0: the larger slope; Keras with JAX has the other one."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * jax.numpy.where(x < 0, alpha * jax.numpy.expm1(jax.numpy.minimum(x, 0)), x)


keras.src.backend.nn.leaky_relu = leaky_relu
keras.src.backend.nn.selu = selu

REPLICAS = [1, 2, 3, 5]
STRATEGIES = ["auto", "auto", "shared-memory", "hierarchical-copy", "reduction-to-one-device", "central"]
PERTURBATION = 1e-6
TIMES = 4  # allowed multiple of the difference between Keras' two trainings
FLOOR = 4e-6  # relative
NOT_BLIND = 0.02  # of the largest change of weights


class Difference(Exception):
    """lockstep's result differs from Keras'."""


def read_weights(path):
    """Weights and optimizer state of a .keras file, by their path in it."""
    found = {}
    with h5py.File(io.BytesIO(zipfile.ZipFile(path).read("model.weights.h5"))) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return {name: np.asarray(value, "f8") for name, value in found.items()}


class Record(keras.callbacks.Callback):
    """All events, with their logs and the number of the epoch or batch."""

    def __init__(self):
        super().__init__()
        self.events = []

    def add(self, event, logs=None, **number):
        self.events.append((event, {name: float(value) for name, value in (logs or {}).items()} | number))

    def on_train_begin(self, logs=None):
        self.add("train_begin")

    def on_epoch_begin(self, epoch, logs=None):
        self.add("epoch_begin", epoch=epoch)

    def on_train_batch_begin(self, batch, logs=None):
        self.add("train_batch_begin", batch=batch)

    def on_train_batch_end(self, batch, logs=None):
        self.add("train_batch_end", logs, batch=batch)

    def on_epoch_end(self, epoch, logs=None):
        self.add("epoch_end", logs, epoch=epoch)

    def on_train_end(self, logs=None):
        self.add("train_end")  # the logs are those of the last epoch

    def on_test_begin(self, logs=None):
        self.add("test_begin")

    def on_test_batch_begin(self, batch, logs=None):
        self.add("test_batch_begin", batch=batch)

    def on_test_batch_end(self, batch, logs=None):
        self.add("test_batch_end", logs, batch=batch)

    def on_test_end(self, logs=None):
        self.add("test_end", logs)

    def on_predict_begin(self, logs=None):
        self.add("predict_begin")

    def on_predict_batch_begin(self, batch, logs=None):
        self.add("predict_batch_begin", batch=batch)

    def on_predict_batch_end(self, batch, logs=None):
        outputs = keras.tree.flatten(logs["outputs"])
        sizes = {f"output_{n}": np.mean(np.abs(output)) for n, output in enumerate(outputs)}
        self.add("predict_batch_end", sizes, batch=batch)

    def on_predict_end(self, logs=None):
        self.add("predict_end")


def perturbed(random, values):
    return (values * (1 + PERTURBATION * random.normal(0, 1, values.shape))).astype(values.dtype)


def fit(case, path, x, watching=()):
    """Trains with Keras on these inputs and with these callbacks, and evaluates and predicts the validation data.
    Returns the events, and the weights read from a file."""
    record = Record()
    _, y, weight = case.train
    many = lambda values: values if len(values) > 1 else values[0]
    weights = lambda w: None if w is None else many([w.reshape(-1, *[1] * (len(y.shape) - 2)) for y in case.model.outputs])
    valid = None
    if case.valid:
        valid = (many(case.valid[0]), many(case.valid[1]), weights(case.valid[2]))
    for _ in range(case.fits):
        case.model.fit(many(x), many(y), batch_size=case.batch, epochs=case.epochs, initial_epoch=case.initial_epoch,
                       steps_per_epoch=case.steps or None, sample_weight=weights(weight),
                       class_weight=case.class_weight or None, validation_data=valid,
                       validation_batch_size=case.valid_batch or None, shuffle=False, verbose=0,
                       callbacks=[record, *watching, *[make() for make in case.callbacks.values()]])
        # Averaged weights share memory with the averages, with which Keras' next call fails.
        case.model.set_weights([np.array(value) for value in case.model.get_weights()])
        if valid and not watching:
            options = {"batch_size": case.valid_batch, "verbose": 0, "callbacks": [record]}
            case.model.evaluate(valid[0], valid[1], sample_weight=valid[2], **options)
            case.model.predict(valid[0], **options)
    case.model.save(path)
    return record.events, read_weights(path)


def save_synchronized(case, path):
    """The model for lockstep: Keras supports synchronized batch normalization with TensorFlow only."""
    normal = [layer for layer in case.leaves if isinstance(layer, layers.BatchNormalization)]
    for layer in normal:
        layer.synchronized = case.synchronized
    case.model.save(path)
    for layer in normal:
        layer.synchronized = False


def train_by_keras(case, folder):
    """Trains twice, with slightly different weights and inputs. The first pair of results is the reference."""
    model, random = case.model, np.random.default_rng(1)
    save_synchronized(case, folder / "model.keras")
    model.optimizer.build(model.trainable_variables)
    variables = model.variables + model.optimizer.variables
    start = [np.array(variable.value) for variable in variables]
    x = case.train[0]
    true = fit(case, folder / "theirs.keras", x)
    for number, (variable, value) in enumerate(zip(variables, start)):
        variable.assign(perturbed(random, value) if number < len(model.variables) else value)
    near = [values if ids else perturbed(random, values) for values, (_, ids) in zip(x, case.inputs)]
    return true, fit(case, folder / "near.keras", near)


class Lockstep:
    """The driver's process."""

    def __init__(self, driver):
        self.process = subprocess.Popen([driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def fit(self, case, folder, replicas):
        """Fits with lockstep as fit() does with Keras; a second fit reads the saved file, on other numbers of
        replicas."""
        logs = []
        for number in range(case.fits):
            fit_on = REPLICAS[(REPLICAS.index(replicas) + number) % len(REPLICAS)] if case.any_replicas() else 1
            logs += self.fit_once(case, folder, "trained.keras" if number else "model.keras", fit_on)
        return logs, read_weights(folder / "trained.keras")

    def fit_once(self, case, folder, model, replicas):
        draw = case.draw
        self.strategy = f"{draw.pick(STRATEGIES)} {replicas}"
        words = [folder, model, self.strategy, case.batch, case.valid_batch, case.initial_epoch, case.epochs, case.steps]
        words += [f"class_weight {label} {weight}" for label, weight in case.class_weight.items()] + list(case.callbacks)
        if draw.chance(0.2):
            words += [f"share {draw.number(0.2, 1)}" for _ in range(replicas)]
        print(*words, file=self.process.stdin, flush=True)
        logs = []
        for line in self.process.stdout:
            name, *rest = line.split(maxsplit=1)
            if name == "done":
                return logs
            if name == "failed":
                raise Difference(f"lockstep fails: {rest[0]}")
            if rest:
                logs[-1][1][name] = float(rest[0])
            else:
                logs.append((name, {}))
        raise Difference(f"the driver has ended with {self.process.wait()}")


def apart(a, b):
    """The difference; 0 for two infinities with the same sign."""
    return 0 if a == b else abs(a - b)


def write_rows(prefix, rows):
    x, y, weight = rows
    for kind, arrays in (("x", x), ("y", y)):
        for number, values in enumerate(arrays):
            np.save(f"{prefix}_{kind}{number}.npy", values)
    if weight is not None:
        np.save(f"{prefix}_weight.npy", weight)


def compare_logs(ours, theirs, near):
    kinds = [kind for kind, _ in theirs]
    if [kind for kind, _ in ours] != kinds:
        raise Difference(f"{len(ours)} events, Keras has {len(theirs)}: {[kind for kind, _ in ours]}, {kinds}")
    worst, noise = 0, {}
    for number, ((kind, mine), (_, other), (_, third)) in enumerate(zip(ours, theirs, near)):
        extra = {"learning_rate", "epoch_s", "examples_per_s"} - other.keys() if kind == "epoch_end" else set()
        if mine.keys() - extra != other.keys():
            raise Difference(f"the logs are {sorted(mine)}, Keras has {sorted(other)}")
        for name, value in other.items():
            noise[name] = max(noise.get(name, 0), apart(value, third[name]))
            tolerance = TIMES * noise[name] + FLOOR * max(abs(value), 0.1)
            difference = apart(mine[name], value)
            worst = max(worst, difference / tolerance)
            if not difference <= tolerance:
                raise Difference(f"{kind}, {kinds[:number].count(kind)} of them before: {name} is {mine[name]:.9g}, Keras has {value:.9g}, tolerance {tolerance:.1e}")
    return worst


def compare_weights(ours, theirs, near, optimizer):
    if ours.keys() != theirs.keys():
        raise Difference(f"the file has {sorted(ours)}, Keras' has {sorted(theirs)}")
    # lockstep's files do not have gradients that wait for an update.
    sums = {id(variable) for variable in getattr(optimizer, "_accumulated_gradients", [])}
    waiting = [f"optimizer/vars/{n}" for n, variable in enumerate(optimizer.variables) if id(variable) in sums]
    theirs = {name: value for name, value in theirs.items() if name not in waiting}
    scales = {name: np.abs(value).max(initial=1e-3) for name, value in theirs.items()}
    noise = {name: np.abs(value - near[name]).max(initial=0) for name, value in theirs.items()}
    common = max(noise[name] / scales[name] for name in noise)
    worst = 0
    for name, value in theirs.items():
        difference = np.abs(ours[name] - value).max(initial=0)
        tolerance = TIMES * noise[name] + (8 * FLOOR + common) * scales[name]
        worst = max(worst, difference / tolerance)
        if not difference <= tolerance:
            raise Difference(f"{name} differs by {difference:.3g} of {scales[name]:.3g}, tolerance {tolerance:.1e}")
    return worst


def is_blind(before, theirs, near):
    """Whether rounding changes the result about as much as training does."""
    names = [name for name in before if name.startswith("layers/")]
    noise = max(np.abs(theirs[name] - near[name]).max(initial=0) for name in names)
    moved = max(np.abs(theirs[name] - before[name]).max(initial=0) for name in names)
    return moved != 0 and not TIMES * noise <= NOT_BLIND * moved


SATURATING = ("sigmoid", "softmax", "tanh")


def saturates(kind, y):
    """Whether 1 - y, or 1 - |y|, has few significant digits in f32."""
    bounds = np.abs(y) if kind == "tanh" else np.concatenate([np.ravel(y), 1 - np.ravel(y)])
    return bool(np.max(bounds) > 1 - 1e-3)


class Saturation(keras.callbacks.Callback):
    """Detects steps in which probabilities, or results of tanh, are so close to their bounds that f32 has few digits
    for the difference, from which their loss or its gradient is computed, or that Keras with JAX, which clips
    probabilities at 1e-7, has no gradient. Checks the model's results and layers inside, but not inside recurrent
    ones."""

    def __init__(self, case):
        super().__init__()
        self.case, self.found = case, False
        inside = [(layer.activation.__name__, node.outputs[0]) for layer in case.model.layers
                  if hasattr(layer, "activation") and not isinstance(layer, layers.RNN) for node in layer._inbound_nodes]
        self.kinds = [kind for kind, _ in inside if kind in SATURATING]
        self.probe = keras.Model(case.model.inputs, list(case.model.outputs) + [y for kind, y in inside if kind in SATURATING])

    def outputs(self, x, training):
        self.model.jax_state_sync()
        state = ([variable.value for variable in variables] for variables in
                 (self.probe.trainable_variables, self.probe.non_trainable_variables))
        return self.probe.stateless_call(*state, x if len(x) > 1 else x[0], training=training)[0]

    def look(self, outputs):
        heads = self.case.heads
        self.found |= any(saturates(kind, y) for kind, y in zip(self.kinds, outputs[len(heads):]))
        for head, y in zip(heads, outputs):
            if head.activation in SATURATING:
                self.found |= saturates(head.activation, y)
            elif isinstance(head.loss, keras.losses.BinaryFocalCrossentropy):
                self.found |= saturates("sigmoid", jax.nn.sigmoid(y))
            elif getattr(head.loss, "from_logits", False) and not isinstance(head.loss, keras.losses.BinaryCrossentropy):
                self.found |= saturates("softmax", jax.nn.softmax(y))

    def on_train_begin(self, logs=None):
        x, batch = self.case.train[0], self.case.batch
        for first in range(0, len(x[0]), batch):
            self.look(self.outputs([values[first:first + batch] for values in x], training=True))
        if self.case.valid:
            self.look(self.outputs(self.case.valid[0], training=False))

    def on_train_batch_end(self, batch, logs=None):
        if not self.found:
            self.on_train_begin()


def is_saturated(seed, folder):
    case = Case(seed)
    watch = Saturation(case)
    fit(case, folder / "again.keras", case.train[0], [watch])
    return watch.found


class Fuzzer:
    def __init__(self, driver):
        self.driver = driver
        self.lockstep = Lockstep(driver)
        self.cases, self.trainings, self.blind, self.failed, self.worst = 0, 0, 0, [], 0

    def check(self, seed, verbose):
        """Whether lockstep agrees with Keras for this seed."""
        case = Case(seed)
        if verbose:
            print(case.text())
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for what, rows in (("train", case.train), ("valid", case.valid)):
                if rows:
                    write_rows(folder / what, rows)
            (logs, weights), (near_logs, near_weights) = train_by_keras(case, folder)
            self.cases += 1
            if self.cases % 100 == 0:
                jax.clear_caches()  # otherwise compiled code outlives its model
            same_steps = [kind for kind, _ in logs] == [kind for kind, _ in near_logs]
            if not same_steps or is_blind(read_weights(folder / "model.keras"), weights, near_weights):
                self.blind += 1
                return True
            for replicas in REPLICAS:
                if replicas > 1 and not case.any_replicas():
                    break
                try:
                    ours = self.lockstep.fit(case, folder, replicas)
                    worst = max(compare_logs(ours[0], logs, near_logs), compare_weights(ours[1], weights, near_weights, case.model.optimizer))
                    self.worst = max(self.worst, worst)
                    if verbose:
                        print(f"{self.lockstep.strategy} replicas: {worst:.2f} of the tolerance")
                    self.trainings += 1
                except Difference as difference:
                    if is_saturated(seed, folder):
                        print(f"seed {seed}, {self.lockstep.strategy} replicas proves nothing, near a bound: {difference}", flush=True)
                        self.blind += 1
                        return True
                    print(f"\nseed {seed}, {self.lockstep.strategy} replicas: {difference}\n{case.text()}", flush=True)
                    if self.lockstep.process.poll() is not None:
                        self.lockstep = Lockstep(self.driver)
                    return False
        return True

    def run(self, seeds, until, verbose):
        for seed in seeds:
            if not self.check(seed, verbose):
                self.failed.append(seed)
            if time.monotonic() > until:
                break
        print(f"{self.trainings} trainings of {self.cases} models, {self.blind} of which prove nothing; at most "
              f"{self.worst:.2f} of the tolerance")
        if self.failed:
            sys.exit(f"lockstep differs from Keras with the seeds {self.failed}: fit_fuzz.py --seed {self.failed[0]}")
        if self.cases >= 10 and 2 * self.blind > self.cases:
            sys.exit("most models prove nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--from", type=int, default=int(time.time()), dest="first", help="the first seed")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    only = arguments.seed is not None
    if not only:
        print(f"seeds from {arguments.first}", flush=True)
    seeds = [arguments.seed] if only else iter(range(arguments.first, 2**62))
    Fuzzer(arguments.driver).run(seeds, until, only)


if __name__ == "__main__":
    main()
