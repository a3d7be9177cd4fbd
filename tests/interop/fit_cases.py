"""Cases for fit_fuzz.py: random models with matching outputs and losses, their data, and options of fit."""

import dataclasses

import keras
import numpy as np
from keras import callbacks, layers, losses, metrics

from random_models import IDS, Draft, Draw, Generator, draw_optimizer, leaves


@dataclasses.dataclass
class Head:
    """Describes how an output of a model is made and trained."""

    loss: losses.Loss
    units: int
    activation: str
    draw_targets: object  # (random, shape with units) -> array
    metrics: list
    classes: int = 0  # number of classes that class weights may be given for


# Metrics that Keras computes of outputs (n, k) only, or weights for these only.
OF_ROWS = (metrics.FBetaScore, metrics.IoU)


def of_whole_batches(loss):
    """Whether a row's loss depends on the other rows of the batch."""
    config = loss.get_config() if loss else {}
    joins = isinstance(loss, (losses.Dice, losses.Tversky)) and config["axis"] is None
    return joins or config.get("ignore_class") is not None


def vector_of(draw, ends):
    """Reduces the results to vectors and concatenates them."""
    vectors = []
    for x in ends:
        if len(x.shape) == 4:
            x = draw.pick([layers.GlobalAveragePooling2D, layers.Flatten])()(x)
        elif len(x.shape) == 3:
            x = layers.LSTM(3)(x) if draw.chance(0.3) else layers.Flatten()(x)
        vectors.append(x)
    return vectors[0] if len(vectors) == 1 else layers.Concatenate()(vectors)


def draw_classes(draw):
    units, from_logits = draw.whole(2, 5), draw.chance(0.5)
    activation = "linear" if from_logits else "softmax"
    if draw.chance(0.5):
        own = [metrics.SparseCategoricalAccuracy(), metrics.SparseTopKCategoricalAccuracy(2),
               metrics.SparseCategoricalCrossentropy(from_logits=from_logits),
               metrics.MeanIoU(units, dtype="float32", ignore_class=draw.pick([None, 0]), sparse_y_pred=False),
               metrics.IoU(units, [0, 1], dtype="float32", sparse_y_pred=False)]
        loss = losses.SparseCategoricalCrossentropy(from_logits=from_logits, ignore_class=draw.pick([None, None, 0]))
        return Head(loss, units, activation, lambda random, shape: random.integers(0, units, shape[:-1]),
                    ["accuracy", *own], units)
    own = [metrics.CategoricalAccuracy(), metrics.TopKCategoricalAccuracy(2),
           metrics.CategoricalCrossentropy(from_logits=from_logits, label_smoothing=draw.pick([0, 0.1])),
           metrics.F1Score(draw.pick(["micro", "macro", "weighted"]), draw.pick([None, 0.4])),
           metrics.FBetaScore("macro", beta=2.0), metrics.OneHotIoU(units, [0], dtype="float32"),
           metrics.OneHotMeanIoU(units, dtype="float32"), metrics.CategoricalHinge()]
    smoothing, gamma = draw.pick([0, 0, draw.number(0.01, 0.5)]), draw.pick([1.0, 2.0])
    loss = draw.pick([losses.CategoricalCrossentropy(from_logits=from_logits, label_smoothing=smoothing),
                      losses.CategoricalFocalCrossentropy(0.25, gamma, from_logits, smoothing),
                      losses.CategoricalFocalCrossentropy([draw.number(0.2, 2) for _ in range(units)], gamma, from_logits),
                      losses.CategoricalHinge()])
    return Head(loss, units, activation,
                lambda random, shape: np.eye(units)[random.integers(0, units, shape[:-1])], ["accuracy", *own], units)


def draw_binary(draw):
    units, from_logits = draw.whole(1, 3), draw.chance(0.4)
    own = [metrics.MeanAbsoluteError()] if from_logits else [
        "accuracy", metrics.BinaryAccuracy(threshold=draw.pick([0.5, 0.3])), metrics.Precision(),
        metrics.Recall(thresholds=draw.pick([None, 0.4])), metrics.BinaryCrossentropy(),
        metrics.AUC(num_thresholds=draw.pick([5, 20]), curve=draw.pick(["ROC", "PR"])), metrics.TruePositives(),
        metrics.FalsePositives(0.4), metrics.FalseNegatives(), metrics.TrueNegatives(), metrics.Hinge(),
        metrics.SquaredHinge(), metrics.F1Score("macro", 0.5), metrics.BinaryIoU(threshold=0.4, dtype="float32")]
    smoothing = draw.pick([0, 0, draw.number(0.01, 0.5)])
    focal = {"gamma": draw.pick([1.0, 2.0]), "from_logits": from_logits, "label_smoothing": smoothing}
    overlap = [] if from_logits else [losses.Dice(axis=draw.pick([None, -1])),
                                      losses.Tversky(0.3, 0.6, axis=draw.pick([None, -1]))]
    loss = draw.pick([losses.BinaryCrossentropy(from_logits=from_logits, label_smoothing=smoothing), *overlap,
                      losses.BinaryFocalCrossentropy(draw.chance(0.5), 0.3, **focal), losses.Hinge(), losses.SquaredHinge()])
    return Head(loss, units, "linear" if from_logits else "sigmoid", lambda random, shape: random.integers(0, 2, shape),
                own, 2 if units == 1 else 0)


def draw_regression(draw):
    units = draw.whole(1, 3)
    own = [metrics.MeanAbsoluteError(), metrics.MeanSquaredError(), metrics.MeanAbsolutePercentageError(),
           metrics.RootMeanSquaredError(), metrics.CosineSimilarity()]
    kind = draw.pick(["any", "any", "large", "positive", "distribution", "direction"])
    if kind == "large":
        return Head(losses.MeanAbsolutePercentageError(), units, "linear", lambda random, shape: random.uniform(90, 110, shape), own)
    if kind == "any":
        loss = draw.pick([losses.MeanSquaredError, losses.MeanAbsoluteError, losses.Huber, losses.LogCosh])()
        return Head(loss, units, draw.pick(["linear", "tanh"]),
                    lambda random, shape: random.choice([-1, 1], shape) * random.uniform(0.5, 1.5, shape), own)
    if kind == "positive":
        loss = draw.pick([losses.MeanSquaredLogarithmicError, losses.Poisson])()
        own += [metrics.MeanSquaredLogarithmicError(), metrics.Poisson()]
        return Head(loss, units, draw.pick(["softplus", "exponential", "sigmoid"]),
                    lambda random, shape: random.uniform(0.2, 2, shape), own)
    if kind == "direction":
        return Head(losses.CosineSimilarity(), units + 1, "linear", lambda random, shape: random.normal(0, 1, shape), own)
    return Head(losses.KLDivergence(), units + 1, "softmax",
                lambda random, shape: random.dirichlet(np.ones(shape[-1]), shape[:-1]), [*own, metrics.KLDivergence()])


def draw_callbacks(draw, has_schedule, monitors):
    """Functions that create Keras' callbacks, by the words that fit_driver.cpp uses for them."""
    made = {}
    if draw.chance(0.25):
        monitor, delta, patience = draw.pick(monitors), draw.number(0, 0.1), draw.whole(0, 2)
        restore, start = draw.chance(0.6), draw.whole(0, 1)
        made[f"early_stopping {monitor} {delta} {patience} {int(restore)} {start}"] = lambda: callbacks.EarlyStopping(
            monitor, delta, patience, restore_best_weights=restore, start_from_epoch=start)
    if not has_schedule and draw.chance(0.2):
        of_rate = draw.pick(monitors), draw.number(0.2, 0.8), draw.whole(0, 1), draw.number(0, 0.2), draw.whole(0, 2)
        made["reduce_lr {} {} {} {} {}".format(*of_rate)] = lambda: callbacks.ReduceLROnPlateau(
            of_rate[0], of_rate[1], of_rate[2], min_delta=of_rate[3], cooldown=of_rate[4])
    return made


class Case:
    """The case of one seed: a compiled model, its data and the options of fit."""

    def __init__(self, seed):
        self.draw = draw = Draw(seed)
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed % 2**32)
        self.make_model()
        self.batch = draw.whole(2, 12)
        rows = self.batch * draw.whole(1, 4) + draw.pick([0, 0, draw.whole(1, self.batch)])
        self.train = self.draw_rows(max(rows, 5), draw.chance(0.4))
        self.valid_batch = draw.pick([0, 0, self.batch, draw.whole(2, 9)])
        self.valid = self.draw_rows(draw.whole(5, 14), draw.chance(0.4)) if self.valid_batch else None
        optimizer = self.model.optimizer
        has_schedule = not isinstance(optimizer._learning_rate, keras.Variable)
        self.callbacks = draw_callbacks(draw, has_schedule, ["loss", "val_loss"] if self.valid else ["loss"])
        self.epochs = draw.whole(1, 3) + 3 * bool(self.callbacks)
        self.initial_epoch = draw.pick([0, 0, 0, self.epochs - 1])
        # lockstep's files do not have gradients that wait for an update.
        self.fits = 1 if optimizer.gradient_accumulation_steps else draw.pick([1, 1, 2])
        self.steps = draw.pick([0, 0, 0, draw.whole(1, -(-rows // self.batch))])
        self.class_weight = self.draw_class_weight()

    def make_model(self):
        draw = self.draw
        draft = Draft(Generator(draw, trainings=True))
        draft.grow(draw.whole(0, 6))
        self.inputs = list(zip(draft.inputs, draft.ids))
        self.heads = [draw.pick([draw_classes, draw_binary, draw_regression])(draw) for _ in range(draw.pick([1, 1, 1, 2, 3]))]
        ends = [symbol for _, symbol, _ in draft.ends()]
        wide = [x for x in ends if len(x.shape) > 2]
        vector = vector_of(draw, ends)
        outputs = []
        for head in self.heads:
            x = draw.pick(wide) if wide and outputs and draw.chance(0.5) else vector
            make = {2: layers.Dense, 4: lambda units: layers.Conv2D(units, 1),
                    3: lambda units: layers.LSTM(units, return_sequences=True)}[len(x.shape)]
            last = make(head.units)
            # The first output always has a loss: if no loss depends on trainable weights, lockstep raises an error, as
            # TensorFlow does.
            last.trainable = head is self.heads[0] or not draw.chance(0.1)
            outputs.append(layers.Activation(head.activation)(last(x)))
        self.model = keras.Model(draft.inputs, outputs)
        self.leaves = leaves(self.model)
        self.synchronized = draw.chance(0.7)
        for variable in self.model.variables:
            variable.assign(variable.value + draw.random.uniform(0.01, 0.1, variable.shape))
        self.compile()

    def compile(self):
        for head in self.heads[1:]:
            head.loss = head.loss if self.draw.chance(0.9) else None
        fitting = [[metric for metric in head.metrics if len(output.shape) == 2 or not isinstance(metric, OF_ROWS)]
                   for head, output in zip(self.heads, self.model.outputs)]
        chosen = [self.draw.some(of_one, 0.4) for of_one in fitting]
        # Keras can weight the elements of a BinaryIoU, but not the rows of several.
        weighted = [[metric for metric in of_one if not isinstance(metric, metrics.BinaryIoU) and self.draw.chance(0.3)]
                    for of_one in chosen]
        plain = [[metric for metric in of_one if metric not in w] for of_one, w in zip(chosen, weighted)]
        only = len(self.heads) == 1
        self.model.compile(
            draw_optimizer(self.draw),
            loss=self.heads[0].loss if only else [head.loss for head in self.heads],
            loss_weights=None if only or self.draw.chance(0.5) else [self.draw.number(0.1, 2) for _ in self.heads],
            metrics=plain[0] if only else plain,
            weighted_metrics=weighted[0] if only else weighted,
        )

    def draw_rows(self, rows, weights):
        """Inputs, targets, and sample weights or None."""
        random = self.draw.random
        x = [random.integers(0, IDS, (rows, *symbol.shape[1:])) if ids else random.normal(0, 1, (rows, *symbol.shape[1:]))
             for symbol, ids in self.inputs]
        y = [head.draw_targets(random, (rows, *output.shape[1:])) for head, output in zip(self.heads, self.model.outputs)]
        weight = random.uniform(0, 2, rows) * (random.random(rows) < 0.9) if weights else None
        as_stored = lambda values: values.astype("<i8" if values.dtype.kind == "i" and values is not None else "<f4")
        return [v.astype("<f4") for v in x], [as_stored(v) for v in y], None if weight is None else weight.astype("<f4")

    def draw_class_weight(self):
        classes = self.heads[0].classes if len(self.heads) == 1 and len(self.model.outputs[0].shape) == 2 else 0
        if not classes or self.train[2] is not None or not self.draw.chance(0.6):
            return {}
        return {label: self.draw.number(0, 3) for label in self.draw.some(range(classes), 0.8)}

    def any_replicas(self):
        """Whether the result must be the same for any number of replicas."""
        normalizes = any(isinstance(layer, layers.BatchNormalization) for layer in self.leaves)
        return (self.synchronized or not normalizes) and not any(of_whole_batches(head.loss) for head in self.heads)

    def text(self):
        """Describes the case: layers with their options, and the options of compile and fit."""
        lines = []
        for layer in self.leaves:
            node = layer._inbound_nodes
            reads = [x._keras_history.operation.name for n in node for x in n.input_tensors]
            plain = {key: value for key, value in layer.get_config().items()
                     if value is not None and not key.endswith("initializer") and key not in ("name", "dtype", "trainable")}
            lines.append(f"{layer.name} of {reads}{'' if layer.trainable else ', frozen'}: {plain}")
        lines.append(f"optimizer {type(self.model.optimizer).__name__} {self.model.optimizer.get_config()}")
        lines += [f"output {head.loss and head.loss.get_config()} {[getattr(m, 'name', m) for m in head.metrics]}" for head in self.heads]
        weighted = "with sample weights" if self.train[2] is not None else f"class_weight {self.class_weight}"
        lines.append(f"{len(self.train[0][0])} rows in batches of {self.batch}, {weighted}, epochs {self.initial_epoch} to "
                     f"{self.epochs}, steps_per_epoch {self.steps}, validation batches of {self.valid_batch}, "
                     f"synchronized {self.synchronized}, {self.fits} fits, callbacks {list(self.callbacks)}")
        return "\n".join(lines)
