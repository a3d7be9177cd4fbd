"""Sends random models through every pair of formats, between Keras and lockstep, and compares the results.

Compared are predictions, all weights bit by bit, names, which variables are trainable, the compile configuration, and
the optimizer's state.

usage: files_fuzz.py --driver FILES_FUZZ_DRIVER [--seconds S] [--seed N]
  --seconds S  how long; seeds count up from the time of day, or from N
  --seed N     without --seconds: only the case with this seed
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import time
import traceback
import warnings

import keras_backend

keras_backend.choose("numpy")
os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import absl.logging
import h5py
import keras
import numpy as np
from keras import losses, metrics
from keras.src.legacy.saving.legacy_h5_format import load_optimizer_weights_from_hdf5_group

from random_models import IDS, Draw, Generator, draw_optimizer, leaves

ROWS = 6
TOLERANCE = 1e-4  # of predictions, relative to the largest one if that exceeds 1
OF_BFLOAT16 = 2**-4  # tolerance for models that compute in bfloat16
WHOLE = (".keras", ".h5")  # formats of whole models
MOST_FAILURES = 10


class Difference(Exception):
    """The result differs from the original."""


def require_same(what, ours, theirs):
    """Fails, naming the first differences, unless both are equal."""
    if ours == theirs:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for key, value in ours.items():
            require_same(f"{what}: {key}", value, theirs[key])
    elif isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)) and len(ours) == len(theirs):
        for number, (mine, value) in enumerate(zip(ours, theirs)):
            require_same(f"{what}: {number}", mine, value)
    raise Difference(f"{what}: {str(ours)[:300]} is not {str(theirs)[:300]}")


REGRESSIONS = [("MeanSquaredError", {}), ("MeanAbsoluteError", {}), ("Huber", {"delta": 0.5}), ("LogCosh", {})]
OTHER_LOSSES = [("Poisson", {}), ("KLDivergence", {}), ("MeanAbsolutePercentageError", {}),
                ("MeanSquaredLogarithmicError", {}), ("CategoricalCrossentropy", {"label_smoothing": 0.25}),
                ("BinaryCrossentropy", {"from_logits": True}), ("SparseCategoricalCrossentropy", {"from_logits": True}),
                ("SparseCategoricalCrossentropy", {"ignore_class": 255}), ("CosineSimilarity", {}), ("Hinge", {}),
                ("SquaredHinge", {}), ("CategoricalHinge", {}), ("Dice", {}), ("Dice", {"axis": (1, 2)}),
                ("Tversky", {"alpha": 0.25, "beta": 0.75}), ("BinaryFocalCrossentropy", {"apply_class_balancing": True}),
                ("CategoricalFocalCrossentropy", {"gamma": 3.0}), ("CategoricalFocalCrossentropy", {"alpha": [0.25, 0.5]})]
OF_NUMBERS = [("MeanSquaredError", {}), ("MeanAbsoluteError", {}), ("BinaryAccuracy", {}),
              ("BinaryAccuracy", {"threshold": 0.25})]
OTHER_METRICS = [("CategoricalAccuracy", {}), ("SparseCategoricalAccuracy", {}), ("TopKCategoricalAccuracy", {"k": 2}),
                 ("SparseTopKCategoricalAccuracy", {"k": 3}), ("Precision", {}), ("Recall", {"thresholds": 0.25}),
                 ("AUC", {"num_thresholds": 10}), ("AUC", {"curve": "PR"}), ("TruePositives", {}),
                 ("FalsePositives", {"thresholds": 0.25}), ("FalseNegatives", {}), ("TrueNegatives", {}),
                 ("F1Score", {"average": "macro"}), ("FBetaScore", {"beta": 2.0, "threshold": 0.25}),
                 ("IoU", {"num_classes": 3, "target_class_ids": [0, 2], "ignore_class": 255}),
                 ("BinaryIoU", {"threshold": 0.25}), ("MeanIoU", {"num_classes": 3, "sparse_y_pred": False}),
                 ("OneHotIoU", {"num_classes": 3, "target_class_ids": [1, 2]}), ("OneHotMeanIoU", {"num_classes": 3}),
                 ("RootMeanSquaredError", {}), ("CosineSimilarity", {}), ("Hinge", {}), ("SquaredHinge", {}),
                 ("CategoricalHinge", {}), ("R2Score", {"class_aggregation": "variance_weighted_average"})]




def random_metrics(draw, kinds):
    """Metrics of different classes, since lockstep requires different names."""
    drawn = dict(draw.pick(kinds) for _ in range(draw.whole(0, 2)))
    return [getattr(metrics, name)(**options) for name, options in drawn.items()]


def ends_of(symbols):
    """The names of the layers that give a model's inputs or outputs."""
    return [symbol._keras_history.operation.name for symbol in symbols]


def compile_randomly(draw, model):
    """Whether the model can be trained with any targets of the outputs' shapes."""
    count = len(model.outputs)
    trains = draw.chance(0.7)
    kinds = REGRESSIONS if trains else REGRESSIONS + OTHER_LOSSES
    measures = OF_NUMBERS if trains else OF_NUMBERS + OTHER_METRICS
    make = lambda: getattr(losses, (kind := draw.pick(kinds))[0])(**kind[1])
    loss = [make() for _ in range(count)]
    if count == 1 or draw.chance(0.2):
        loss = loss[0]
    elif draw.chance(0.2) and len(set(ends_of(model.outputs))) == count:
        loss = dict(zip(ends_of(model.outputs), loss))
    elif draw.chance(0.2):
        loss[draw.whole(0, count - 2)] = None
    measured = [random_metrics(draw, measures) for _ in range(count)] if draw.chance(0.5) else None
    weights = [draw.pick([1.0, 0.5]) for _ in range(count)] if draw.chance(0.3) and isinstance(loss, list) else None
    model.compile(draw_optimizer(draw), loss, loss_weights=weights,
                  metrics=measured if measured is None or count > 1 else measured[0])
    return trains


def take_steps(draw, model):
    """Takes steps with random gradients."""
    variables = model.trainable_variables
    steps = draw.whole(0, 2) * (model.optimizer.gradient_accumulation_steps or 1)
    if not variables or steps == 0:
        return
    model.optimizer.build(variables)
    for _ in range(steps):
        model.optimizer.apply([draw.random.normal(size=v.shape).astype("f4") for v in variables])


def randomize(draw, model):
    for variable in model.variables:
        low = 0.5 if variable.name == "moving_variance" else -0.5
        if variable.dtype == "float32":
            variable.assign(draw.random.uniform(low, low + 1, variable.shape))


class Driver:
    """The lockstep side: one process for all cases."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, do, **words):
        words = {key: str(value) if isinstance(value, pathlib.Path) else value for key, value in words.items()}
        self.process.stdin.write(json.dumps({"do": do, **words}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the driver ended with {self.process.wait()} at {do} {words}")
        answer = json.loads(line)
        if "error" in answer:
            raise Difference(f"lockstep's {do}: {answer['error']}")
        return answer


def bits(array):
    return np.ascontiguousarray(array, "<f4").tobytes()


def values_of(variables):
    return [bits(variable.value) for variable in variables]


def is_nested(model):
    return any(isinstance(layer, keras.Model) for layer in model.layers)


def has_shared_parts(model, seen=None):
    """Whether several models share a layer or model."""
    seen = set() if seen is None else seen
    for part in model.layers:
        if id(part) in seen or isinstance(part, keras.Model) and has_shared_parts(part, seen):
            return True
        seen.add(id(part))
    return False


def option_lists(layer):
    """The optimizer's options, without those that lockstep's files may omit."""
    config = json.loads(json.dumps(layer.get_config()))
    return {key: value for key, value in config.items() if not key.endswith("_initializer") and key not in ("seed", "name", "trainable")}


def save_by_keras(model, path):
    """Saves with Keras, and restores the compile configuration, which saving in the legacy format damages."""
    compiled = dict(model._compile_config.config) if model.compiled else {}
    try:
        model.save(path)
    finally:
        if model.compiled:
            model._compile_config.config.update(compiled)


def slots_of(optimizer):
    """(slot, the variable's value, the slot's value) for each slot of a built Keras optimizer."""
    trained = getattr(optimizer, "_trainable_variables", None) or []
    kept = {"_momentums": "momentum", "momentums": "momentum", "_velocities": "velocity", "_velocity_hats": "velocity_hat",
            "_accumulators": "accumulator", "_average_gradients": "average_gradient",
            "_model_variables_moving_average": "average"}
    return sorted((name, bits(variable.value), bits(slot.value)) for key, name in kept.items()
                  for variable, slot in zip(trained, getattr(optimizer, key, None) or []) if slot is not None)


def by_output(model, value):
    """A part of Keras' compile_config, as a list with one entry for each output."""
    count, names = len(model.outputs), ends_of(model.outputs)
    if count == 1 and isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list):
        return value
    if isinstance(value, dict) and "class_name" not in value:
        return [value.get(name) for name in names]
    return value if isinstance(value, list) and len(value) == count and count > 1 else [value] * count


def in_f32(value):
    if isinstance(value, list):
        return [in_f32(x) for x in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def object_of(value):
    if not isinstance(value, dict):
        return value
    config = {key: in_f32(x) for key, x in value["config"].items()
              if key not in ("dtype", "reduction", "name", "fn", "summation_method", "multi_label") and x is not None
              and (key, x) != ("axis", -1)}
    return value["class_name"], config


def require_options(what, ours, theirs):
    """Compares our options with theirs, which may omit some."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            require_options(f"{what}: {key}", ours.get(key), value)
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)) and len(ours) == len(theirs):
        for mine, value in zip(ours, theirs):
            require_options(what, mine, value)
    else:
        require_same(what, ours, theirs)


def compiled_as(model, config):
    if config is None:
        return None
    optimizer = dict(config["optimizer"]["config"])
    off = {"clipnorm": None, "clipvalue": None, "global_clipnorm": None, "ema_overwrite_frequency": None,
           "gradient_accumulation_steps": None, "use_ema": False, "weight_decay": None, "loss_scale_factor": None}
    options = {key: object_of(x) if isinstance(x, dict) else in_f32(x)
               for key, x in optimizer.items() if key not in off or x != off[key]}
    if not options.get("use_ema"):
        options.pop("ema_momentum", None)
    weights = config.get("loss_weights")
    metrics = [value if isinstance(value, list) else [value] for value in by_output(model, config.get("metrics"))]
    if len(model.outputs) == 1 and metrics and isinstance(config.get("metrics"), list):
        metrics = [config["metrics"]]
    return {"optimizer": (config["optimizer"]["class_name"], options),
            "loss": [object_of(value) for value in by_output(model, config["loss"])],
            "loss_weights": by_output(model, weights) if weights else [1.0] * len(model.outputs),
            "metrics": [[object_of(metric) for metric in each if metric is not None] for each in metrics]}


class Ours:
    """The driver's current model, with all its values."""

    def __init__(self, answer, values):
        self.answer = answer
        self.layers = []
        trained = []
        for layer in answer["layers"]:
            weights = []
            for weight in layer["weights"]:
                count = int(np.prod(weight["shape"]))
                weights.append(bits(values[:count]))
                trained += [(weights[-1], weight["shape"])] if weight["trainable"] else []
                values = values[count:]
            self.layers.append((layer["name"], layer["class"], weights))
        self.trained = [value for value, _ in trained]
        self.slots = []
        for slot in answer["optimizer"]["slots"] if "optimizer" in answer else []:
            for variable, shape in trained:
                count = int(np.prod(shape))
                self.slots.append((slot, variable, bits(values[:count])))
                values = values[count:]
        self.slots.sort()

    def facts(self, taken_apart):
        """The parts to compare; without the order and the results' names if nested models are flattened."""
        if not taken_apart:
            return {"model": self.answer, "layers": self.layers, "slots": self.slots}
        model = {key: value for key, value in self.answer.items() if key not in ("outputs", "layers")}
        return {"model": model, "layers": sorted(x[1:] for x in self.layers), "slots": self.slots}


class Case:
    """A random model and a folder for its files."""

    def __init__(self, seed, driver, folder, counts):
        self.seed, self.driver, self.folder, self.counts = seed, driver, pathlib.Path(folder), counts
        self.draw = Draw(seed)
        self.generator = Generator(self.draw)
        self.spec = self.generator.spec()
        self.model = self.generator.made[self.spec["model"]]
        randomize(self.draw, self.model)
        self.generator.freeze()
        self.compiled = self.draw.chance(0.6)
        self.trains = self.compiled and compile_randomly(self.draw, self.model)
        if self.compiled:
            take_steps(self.draw, self.model)
        self.nested = is_nested(self.model)
        # Then lockstep's files have no nested models: layers and results of these get other names.
        self.taken_apart = has_shared_parts(self.model)
        self.tolerance = OF_BFLOAT16 if self.generator.mixed else TOLERANCE
        self.write_inputs()
        self.expected = self.predictions_of(self.model)

    def write_inputs(self):
        self.inputs = []
        for number, (input, ids) in enumerate(zip(self.model.inputs, self.generator.ids)):
            shape = (ROWS, *input.shape[1:])
            values = self.draw.random.integers(0, IDS, shape) if ids else self.draw.random.normal(size=shape)
            self.inputs.append(values.astype("<f4"))
            self.inputs[-1].tofile(self.folder / f"input_{number}")

    # The models of each side.

    def predictions_of(self, model):
        results = model(self.inputs if len(self.inputs) > 1 else self.inputs[0], training=False)
        return [np.asarray(result, "f4") for result in (results if isinstance(results, (list, tuple)) else [results])]

    def check_predictions(self, ours, what):
        for number, (mine, expected) in enumerate(zip(ours, self.expected, strict=True)):
            finite = np.isfinite(expected)
            if not finite.any():
                continue
            difference = np.abs(mine.reshape(expected.shape)[finite] - expected[finite]).max()
            if not difference <= self.tolerance * max(1, np.abs(expected[finite]).max()):
                raise Difference(f"{what}: output {number} differs by {difference:.1e} of "
                                 f"{np.abs(expected[finite]).max():.1e}")

    def ours(self, what):
        """The driver's model; checks its predictions."""
        self.driver.ask("predict", folder=self.folder)
        self.check_predictions([np.fromfile(self.folder / f"output_{i}", "<f4") for i in range(len(self.expected))], what)
        answer = self.driver.ask("values", path=self.folder / "values")
        return Ours(answer, np.fromfile(self.folder / "values", "<f4"))

    def open_ours(self, path, what):
        self.driver.ask("open", path=path, replicas=self.draw.whole(1, 3))
        return self.ours(what)

    def open_keras(self, path):
        """The file as Keras opens it. For a legacy file, sets the optimizer's values, which Keras does not restore."""
        model = keras.saving.load_model(path)
        if path.suffix == ".h5" and model.compiled:
            with h5py.File(path) as file:
                values = [np.asarray(value) for value in load_optimizer_weights_from_hdf5_group(file)]
            optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
            if len(values) > len(optimizer.variables):
                optimizer.build(model.trainable_variables)
            for variable, value in zip(optimizer.variables, values, strict=True):
                variable.assign(value)
            model.optimizer = optimizer
        return model

    # Comparisons.

    def compare_keras(self, model, what, names=True):
        """Compares a model that Keras opened with that of the case."""
        theirs = self.model
        require_same(f"{what}: name", model.name, theirs.name)
        if names:
            require_same(f"{what}: inputs", ends_of(model.inputs), ends_of(theirs.inputs))
            require_same(f"{what}: outputs", ends_of(model.outputs), ends_of(theirs.outputs))
            require_same(f"{what}: layers", [x.name for x in leaves(model)], [x.name for x in leaves(theirs)])
            for ours, other in zip(leaves(model), leaves(theirs), strict=True):
                require_same(f"{what}: options of {other.name!r}", option_lists(ours), option_lists(other))
        kinds = [sorted((type(x).__name__, values_of(x.weights)) for x in leaves(which)) for which in (model, theirs)]
        require_same(f"{what}: weights", *kinds)
        trained = [sorted(values_of(which.trainable_variables)) for which in (model, theirs)]
        require_same(f"{what}: trainable weights", *trained)
        self.check_predictions(self.predictions_of(model), what)
        compiled = [compiled_as(which, which.get_compile_config() if which.compiled else None) for which in (model, theirs)]
        require_options(f"{what}: compiled", *compiled)
        if not theirs.compiled:
            return
        counts = [int(which.optimizer._iterations.value) for which in (model, theirs)]
        require_same(f"{what}: steps", *counts)
        if theirs.optimizer.built:
            require_same(f"{what}: optimizer's values", slots_of(model.optimizer), slots_of(theirs.optimizer))

    def compare_ours(self, ours, what):
        """Compares the driver's model with that of the case."""
        theirs = self.model
        answer = ours.answer
        require_same(f"{what}: name", answer["name"], theirs.name)
        outputs = ends_of(theirs.outputs)
        if len(set(outputs)) == len(outputs):
            require_same(f"{what}: outputs", answer["outputs"], outputs)
        named = [(x.name, type(x).__name__, values_of(x.weights)) for x in leaves(theirs)]
        if self.nested:
            require_same(f"{what}: weights", sorted(x[1:] for x in ours.layers), sorted(x[1:] for x in named))
        else:
            require_same(f"{what}: layers", sorted(ours.layers), sorted(named))
        require_same(f"{what}: trainable weights", sorted(ours.trained), sorted(values_of(theirs.trainable_variables)))
        require_same(f"{what}: compiled", "compile" in answer, bool(theirs.compiled))
        if not theirs.compiled:
            return
        require_options(f"{what}: compiled", compiled_as(theirs, answer["compile"]),
                        compiled_as(theirs, theirs.get_compile_config()))
        require_same(f"{what}: steps", answer["optimizer"]["steps"], int(theirs.optimizer._iterations.value))
        require_same(f"{what}: optimizer's values", ours.slots, slots_of(theirs.optimizer))

    # Conversions.

    def keras_can(self, format):
        """Whether Keras can open its own file, which its legacy format does not support for all models."""
        path = self.folder / f"theirs{format}"
        try:
            save_by_keras(self.model, path)
            self.compare_keras(self.open_keras(path), "Keras alone")
            return True
        except Exception as error:
            self.leave_out(format, error)
            return False

    def leave_out(self, format, error):
        self.counts[f"not Keras' own {format}: {type(error).__name__} {str(error)[:70]!r}"] += 1

    def begun_by_keras(self):
        self.able = [format for format in WHOLE if self.keras_can(format)]
        for first in self.able:
            opened = self.open_ours(self.folder / f"theirs{first}", f"{first} of Keras, opened by lockstep")
            self.compare_ours(opened, f"{first} of Keras, opened by lockstep")
            for second in self.able:
                what = f"{first} of Keras, then {second} of lockstep"
                self.driver.ask("open", path=self.folder / f"theirs{first}", replicas=1)
                path = self.folder / f"ours{second}"
                self.driver.ask("save", path=path)
                self.compare_keras(self.open_keras(path), f"{what}, opened by Keras", names=not self.taken_apart)
                again = self.open_ours(path, f"{what}, opened by lockstep")
                require_same(f"{what}, opened by lockstep", again.facts(self.taken_apart), opened.facts(self.taken_apart))
                self.counts[f"{first} -> {second}"] += 1

    def make_ours(self, compile=None, spec=None):
        """Starts with a model of lockstep's, with its own weights."""
        self.driver.ask("make", spec=spec or self.spec, compile=compile, replicas=self.draw.whole(1, 3))

    def make_theirs(self):
        """Builds the model of the case again, with other weights."""
        again = Generator(Draw(self.seed))
        spec = again.spec()
        for made, first in reversed(list(zip(again.made, self.generator.made))):  # models before the layers in them
            made.trainable = first.trainable
        return again.made[spec["model"]]

    def check_loaded(self, what):
        """Checks and returns lockstep's own model after it loaded the case's weights."""
        ours = self.ours(what)
        kinds = sorted((x[1], x[2]) for x in ours.layers)
        require_same(f"{what}: weights", kinds, sorted((type(x).__name__, values_of(x.weights)) for x in leaves(self.model)))
        return ours

    def weights(self):
        """Exchanges files of weights between a model made by Keras and the same one made by lockstep."""
        path = self.folder / "theirs.weights.h5"
        self.model.save_weights(path)
        read = [path] + [self.folder / f"theirs{format}" for format in (".h5",) if format in self.able]
        for file in read:
            self.make_ours()
            self.driver.ask("load_weights", path=file)
            ours = self.check_loaded(f"{file.name} of Keras, loaded by lockstep")
            for format in (".weights.h5", ".safetensors"):
                path = self.folder / f"ours{format}"
                self.driver.ask("save_weights", path=path)
                self.make_ours()
                self.driver.ask("load_weights", path=path)
                what = f"{file.name} of Keras, then {format} of lockstep, loaded by lockstep"
                require_same(what, self.check_loaded(what).facts(False), ours.facts(False))
                self.counts[f"{file.name[6:]} -> {format}, weights"] += 1
        self.load_weights_by_keras(self.folder / "ours.weights.h5")
        if not self.taken_apart:
            # Legacy files order weights by trainability; in a model of lockstep's own, only layers have that option.
            half_frozen = any(isinstance(made, keras.Model) and not made.trainable and any(v.trainable for v in made.weights)
                              for made in self.generator.made)
            for format in self.able if not half_frozen else [".keras"]:
                self.driver.ask("save", path=self.folder / f"ours{format}")
                self.load_weights_by_keras(self.folder / f"ours{format}")

    def load_weights_by_keras(self, path):
        model = self.make_theirs()
        model.load_weights(path)
        require_same(f"{path.name} of lockstep, its weights loaded by Keras", values_of(model.weights),
                     values_of(self.model.weights))
        self.counts[f"{path.name[4:]}, weights for Keras"] += 1

    def with_slashes(self, spec):
        """The same model with names that Keras 2 accepts, but Keras 3 and files do not."""
        spec = json.loads(json.dumps(spec))
        for entry in spec["pool"]:
            if "config" in entry and entry["config"]["name"] and self.draw.chance(0.3):
                entry["config"]["name"] = "block/" + entry["config"]["name"]
        return spec

    def begun_by_lockstep(self):
        """Like begun_by_keras, in the other direction."""
        has_slashes = self.draw.chance(0.3)
        spec = self.with_slashes(self.spec) if has_slashes else self.spec
        compile_config = self.model.get_compile_config() if self.compiled else None
        # Keras numbers unnamed layers in the order of their creation, lockstep those of nested models first.
        has_other_names = has_slashes or self.nested and self.generator.names is None
        if has_other_names and compile_config and "class_name" not in compile_config["loss"]:
            compile_config["loss"] = by_output(self.model, compile_config["loss"])
        self.make_ours(compile_config, spec)
        if self.trains and self.model.trainable_variables:
            self.train_ours()
        self.driver.ask("predict", folder=self.folder)
        self.expected = [np.fromfile(self.folder / f"output_{i}", "<f4").reshape(expected.shape)
                         for i, expected in enumerate(self.expected)]
        begun = self.ours("begun by lockstep")
        for first in self.able:
            path = self.folder / f"begun{first}"
            self.driver.ask("save", path=path)
        for first in self.able:
            model = self.open_keras(self.folder / f"begun{first}")
            self.compare_begun(model, begun, f"begun by lockstep, {first} opened by Keras", has_slashes)
            for second in self.able:
                what = f"begun by lockstep, {first}, then {second} of Keras, opened by lockstep"
                try:
                    save_by_keras(model, self.folder / f"theirs{second}")
                except ValueError as error:
                    self.leave_out(second, error)
                    continue
                again = self.open_ours(self.folder / f"theirs{second}", what)
                self.compare_begun(model, again, what, has_slashes)
                self.counts[f"{first} of lockstep -> {second}"] += 1

    def train_ours(self):
        try:
            self.driver.ask("train", folder=self.folder)
        except Difference as difference:
            # All outputs that depend on trainable weights may lack a loss; TensorFlow's fit refuses that, too.
            if "depends on no variable" not in str(difference):
                raise
            self.counts["without a gradient"] += 1

    def compare_begun(self, model, ours, what, has_slashes):
        """Keras' version of a model of the driver, which is or was described by `ours`."""
        answer = ours.answer
        require_same(f"{what}: name", model.name, answer["name"])
        theirs = [(x.name, type(x).__name__, values_of(x.weights)) for x in leaves(model)]
        if self.nested or has_slashes:
            require_same(f"{what}: weights", sorted(x[1:] for x in theirs), sorted(x[1:] for x in ours.layers))
        else:
            require_same(f"{what}: layers", sorted(theirs), sorted(ours.layers))
        if not self.taken_apart and not has_slashes:
            require_same(f"{what}: inputs", ends_of(model.inputs), answer["inputs"])
            if len(set(outputs := ends_of(model.outputs))) == len(outputs):
                require_same(f"{what}: outputs", outputs, answer["outputs"])
        require_same(f"{what}: trainable weights", sorted(values_of(model.trainable_variables)), sorted(ours.trained))
        self.check_predictions(self.predictions_of(model), what)
        require_same(f"{what}: compiled", model.compiled, "compile" in answer)
        if not model.compiled:
            return
        require_options(f"{what}: compiled", compiled_as(model, answer["compile"]),
                        compiled_as(model, model.get_compile_config()))
        require_same(f"{what}: steps", int(model.optimizer._iterations.value), answer["optimizer"]["steps"])
        if ours.slots:
            require_same(f"{what}: optimizer's values", slots_of(model.optimizer), ours.slots)

    def run(self):
        self.begun_by_keras()
        if not self.generator.has_models_in_sequences():
            self.weights()
            self.begun_by_lockstep()


def run_case(seed, driver, counts, show):
    with tempfile.TemporaryDirectory() as folder:
        case = None
        try:
            case = Case(seed, driver, folder, counts)
            if show:
                case.model.summary(expand_nested=True)
            case.run()
            return True
        except Exception as error:  # includes Keras' errors on lockstep's files
            print(f"seed {seed}: {error if isinstance(error, Difference) else traceback.format_exc(limit=-4)}")
            print(f"  the model: {json.dumps(case.spec)[:6000] if case else 'not made'}", flush=True)
            return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    absl.logging.set_verbosity(absl.logging.ERROR)
    driver = Driver(arguments.driver)
    end = time.monotonic() + (arguments.seconds or 0)
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    print(f"first seed: {seed}", flush=True)
    counts = collections.Counter()
    failures = 0
    while True:
        failures += not run_case(seed, driver, counts, show=arguments.seconds is None)
        counts["cases"] += 1
        seed += 1
        if time.monotonic() >= end or failures >= MOST_FAILURES:
            break
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    if counts["cases"] >= 20:
        missing = [f"{first} -> {second}" for first in WHOLE for second in WHOLE if not counts[f"{first} -> {second}"]]
        assert not missing, f"no case went {missing}"
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
