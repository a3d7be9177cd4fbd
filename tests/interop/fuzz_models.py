"""Random models, data and options of compile and fit, in Keras' words: what fit_fuzz.py trains."""

import dataclasses

import keras
import numpy as np
from keras import callbacks, layers, losses, metrics, optimizers

ACTIVATIONS = ["linear", "relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "sigmoid", "hard_sigmoid", "silu", "softplus",
               "softsign", "tanh", "softmax", "log_softmax"]
CURVED = ["sigmoid", "silu", "softplus", "softsign", "tanh", "gelu"]
BETAS = [0.5, 0.75, 0.875, 0.9375]  # Keras' 1 - beta^t loses digits of others


class Draw:
    """Random numbers of one seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def whole(self, low, high):
        """Both included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, share):
        return bool(self.random.random() < share)

    def pick(self, values):
        return values[self.whole(0, len(values) - 1)]

    def number(self, low, high):
        """With few digits, so that a printed case can be read."""
        return float(f"{self.random.uniform(low, high):.3g}")

    def some(self, values, share):
        return [value for value in values if self.chance(share)]


@dataclasses.dataclass
class Head:
    """How an output of a model is made and trained."""

    loss: losses.Loss
    units: int
    activation: str
    draw_targets: object  # (random, shape with units) -> array
    metrics: list
    classes: int = 0  # that class weights may be given for


def draw_penalty(draw):
    kind = draw.pick(["L1", "L2", "L1L2"])
    factors = [draw.number(1e-3, 0.05) for _ in range(2 if kind == "L1L2" else 1)]
    return getattr(keras.regularizers, kind)(*factors)


def draw_constraint(draw):
    kind = draw.pick(["MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"])
    if kind == "MaxNorm":
        return keras.constraints.MaxNorm(draw.number(0.2, 1.5), axis=draw.pick([0, -1]))
    if kind == "MinMaxNorm":
        return keras.constraints.MinMaxNorm(draw.number(0.1, 0.5), draw.number(0.6, 1.5), rate=draw.number(0.1, 1))
    return keras.constraints.NonNeg() if kind == "NonNeg" else keras.constraints.UnitNorm()


def of_weights(draw, *names):
    """Penalties and constraints of the weights of these names."""
    constraints = {name: draw_constraint(draw) for name in draw.some(names, 0.1)}
    # Keras' penalties over JAX have another gradient where a weight is 0: l1 instead of TensorFlow's 0.
    free = [name for name in names if not isinstance(constraints.get(name), keras.constraints.NonNeg)]
    penalties = {f"{name}_regularizer": draw_penalty(draw) for name in draw.some(free, 0.12)}
    return penalties | {f"{name}_constraint": constraint for name, constraint in constraints.items()}


def window(draw, shape, largest=3):
    """Options of a kernel or pool that fits."""
    return [draw.whole(1, min(largest, size)) for size in shape[:2]], draw.pick(["valid", "same"])


def draw_convolution(draw, shape, bias, activation):
    kernel, padding = window(draw, shape)
    options = {"kernel_size": kernel, "padding": padding, "use_bias": bias, "activation": activation}
    if draw.chance(0.3):
        options["strides"] = 2
    elif padding == "same" and draw.chance(0.3):
        options["dilation_rate"] = 2
    kind = draw.pick(["Conv2D", "Conv2D", "DepthwiseConv2D", "SeparableConv2D"])
    if kind == "DepthwiseConv2D":
        return layers.DepthwiseConv2D(depth_multiplier=draw.whole(1, 2), **options, **of_weights(draw, "depthwise", "bias"))
    if kind == "SeparableConv2D":
        weights = of_weights(draw, "depthwise", "pointwise", "bias")
        return layers.SeparableConv2D(draw.whole(2, 5), depth_multiplier=draw.whole(1, 2), **options, **weights)
    groups = draw.pick([1, 1, shape[-1]])
    return layers.Conv2D(groups * draw.whole(1, 3), groups=groups, **options, **of_weights(draw, "kernel", "bias"))


def draw_recurrent(draw):
    options = {"return_sequences": draw.chance(0.5), "go_backwards": draw.chance(0.3), "use_bias": draw.chance(0.8)}
    options |= of_weights(draw, "kernel", "recurrent")
    if draw.chance(0.3):
        options |= {"activation": draw.pick(CURVED), "recurrent_activation": draw.pick(["sigmoid", "hard_sigmoid"])}
    if draw.chance(0.5):
        return layers.LSTM(draw.whole(2, 5), unit_forget_bias=draw.chance(0.7), **options)
    return layers.GRU(draw.whole(2, 5), reset_after=draw.chance(0.7), **options)


def draw_pooling(draw, shape):
    kind = draw.pick(["MaxPooling2D", "AveragePooling2D", "GlobalAveragePooling2D", "GlobalMaxPooling2D"])
    if kind.startswith("Global"):
        return getattr(layers, kind)(keepdims=draw.chance(0.2))
    size, padding = window(draw, shape)
    return getattr(layers, kind)(size, strides=draw.pick([None, 1, 2]), padding=padding)


def draw_pointwise(draw):
    return draw.pick([layers.ReLU, layers.LeakyReLU, layers.ELU, lambda: layers.Activation(draw.pick(ACTIVATIONS)),
                      lambda: layers.Dropout(0.0)])()


def with_weights(draw, shape):
    """A layer that has weights, for an input of this shape, and its options after normalization."""
    def make(bias, activation):
        if len(shape) == 3:
            return draw_convolution(draw, shape, bias, activation)
        if len(shape) == 2:  # where Dense is not for sequences here
            return layers.LSTM(draw.whole(2, 4), return_sequences=True, activation="tanh", use_bias=bias)
        return layers.Dense(draw.whole(2, 6), activation=activation, use_bias=bias, **of_weights(draw, "kernel", "bias"))
    return make


def draw_layers(draw, shape):
    """One layer for an input of this shape, or a few that belong together."""
    make = with_weights(draw, shape)
    if draw.chance(0.4):
        return [make(draw.chance(0.8), draw.pick(ACTIVATIONS))]
    if draw.chance(0.15):
        # A bias before it would get the rounding errors of a gradient that is 0.
        first = make(False, "linear") if draw.chance(0.5) else layers.Activation(draw.pick(CURVED))
        return [first, layers.BatchNormalization(momentum=draw.number(0.3, 0.99), epsilon=draw.pick([1e-3, 1e-2]))]
    if draw.chance(0.15) and shape[-1] > 2:
        return [layers.LayerNormalization(epsilon=draw.pick([1e-3, 1e-2]), **of_weights(draw, "gamma", "beta"))]
    if draw.chance(0.2):
        return [draw_pointwise(draw)]
    if len(shape) == 3:
        return [draw.pick([lambda: draw_pooling(draw, shape), lambda: draw_pooling(draw, shape), layers.Flatten,
                           lambda: layers.ZeroPadding2D(draw.whole(1, 2)), lambda: layers.Reshape((-1, shape[-1]))])()]
    if len(shape) == 2:
        return [draw_recurrent(draw) if draw.chance(0.7) else layers.Flatten()]
    return [make(draw.chance(0.8), draw.pick(ACTIVATIONS))]


class Graph:
    """Symbolic tensors, of which those that nothing reads yet are `ends`."""

    def __init__(self, draw, inputs):
        self.draw = draw
        self.ends = inputs
        self.called = []  # layers and the shapes of their inputs

    def call(self, layer, x):
        y = layer(x)
        self.ends = [end for end in self.ends if end is not x] + [y]
        return y

    def grow(self):
        x = self.draw.pick(self.ends)
        if self.draw.chance(0.15):
            self.ends.append(x)  # to be read twice
        again = [layer for layer, shape in self.called if shape == x.shape]
        if again and self.draw.chance(0.3):
            self.call(self.draw.pick(again), x)
            return
        for layer in draw_layers(self.draw, x.shape[1:]):
            if not isinstance(layer, layers.BatchNormalization):
                self.called.append((layer, x.shape))
            x = self.call(layer, x)

    def merge(self):
        """Two ends whose shapes allow it."""
        x = self.draw.pick(self.ends)
        equal = [y for y in self.ends if y is not x and y.shape == x.shape]
        joinable = [y for y in self.ends if y is not x and y.shape[:-1] == x.shape[:-1]]
        if equal and self.draw.chance(0.5):
            layer, y = layers.Add(), self.draw.pick(equal)
        elif joinable:
            layer, y = layers.Concatenate(axis=self.draw.pick([-1, len(x.shape) - 1])), self.draw.pick(joinable)
        else:
            return
        merged = layer([x, y])
        self.ends = [end for end in self.ends if end is not x and end is not y] + [merged]

    def vector(self):
        """All ends in one."""
        vectors = []
        for x in self.ends:
            if len(x.shape) == 4:
                x = self.draw.pick([layers.GlobalAveragePooling2D, layers.Flatten])()(x)
            elif len(x.shape) == 3:
                x = layers.LSTM(3)(x) if self.draw.chance(0.3) else layers.Flatten()(x)
            vectors.append(x)
        return vectors[0] if len(vectors) == 1 else layers.Concatenate()(vectors)


def draw_classes(draw):
    units, from_logits = draw.whole(2, 5), draw.chance(0.5)
    activation = "linear" if from_logits else "softmax"
    if draw.chance(0.5):
        own = [metrics.SparseCategoricalAccuracy(), metrics.SparseTopKCategoricalAccuracy(2),
               metrics.SparseCategoricalCrossentropy(from_logits=from_logits)]
        return Head(losses.SparseCategoricalCrossentropy(from_logits=from_logits), units, activation,
                    lambda random, shape: random.integers(0, units, shape[:-1]), ["accuracy", *own], units)
    own = [metrics.CategoricalAccuracy(), metrics.TopKCategoricalAccuracy(2),
           metrics.CategoricalCrossentropy(from_logits=from_logits, label_smoothing=draw.pick([0, 0.1]))]
    loss = losses.CategoricalCrossentropy(from_logits=from_logits, label_smoothing=draw.pick([0, 0, draw.number(0.01, 0.5)]))
    return Head(loss, units, activation,
                lambda random, shape: np.eye(units)[random.integers(0, units, shape[:-1])], ["accuracy", *own], units)


def draw_binary(draw):
    units, from_logits = draw.whole(1, 3), draw.chance(0.4)
    own = [metrics.MeanAbsoluteError()] if from_logits else [
        "accuracy", metrics.BinaryAccuracy(threshold=draw.pick([0.5, 0.3])), metrics.Precision(),
        metrics.Recall(thresholds=draw.pick([None, 0.4])), metrics.BinaryCrossentropy(),
        metrics.AUC(num_thresholds=draw.pick([5, 20]), curve=draw.pick(["ROC", "PR"]))]
    loss = losses.BinaryCrossentropy(from_logits=from_logits, label_smoothing=draw.pick([0, 0, draw.number(0.01, 0.5)]))
    return Head(loss, units, "linear" if from_logits else "sigmoid", lambda random, shape: random.integers(0, 2, shape),
                own, 2 if units == 1 else 0)


def draw_regression(draw):
    units = draw.whole(1, 3)
    own = [metrics.MeanAbsoluteError(), metrics.MeanSquaredError(), metrics.MeanAbsolutePercentageError()]
    kind = draw.pick(["any", "any", "large", "positive", "distribution"])
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
    return Head(losses.KLDivergence(), units + 1, "softmax",
                lambda random, shape: random.dirichlet(np.ones(shape[-1]), shape[:-1]), [*own, metrics.KLDivergence()])


def draw_schedule(draw, rate):
    schedules = optimizers.schedules
    kind = draw.pick(["ExponentialDecay", "InverseTimeDecay", "PiecewiseConstantDecay", "PolynomialDecay", "CosineDecay",
                      "CosineDecayRestarts"])
    steps = draw.whole(1, 8)
    if kind in ("ExponentialDecay", "InverseTimeDecay"):
        return getattr(schedules, kind)(rate, steps, draw.number(0.3, 0.95), staircase=draw.chance(0.5))
    if kind == "PiecewiseConstantDecay":
        return schedules.PiecewiseConstantDecay([steps, steps + draw.whole(1, 4)], [rate, rate / 2, rate / 8])
    if kind == "PolynomialDecay":
        return schedules.PolynomialDecay(rate, steps, rate / 10, power=draw.pick([1.0, 2.0]), cycle=draw.chance(0.5))
    if kind == "CosineDecay":
        warmup = {"warmup_target": 2 * rate, "warmup_steps": draw.whole(1, 4)} if draw.chance(0.5) else {}
        return schedules.CosineDecay(rate, steps, alpha=draw.number(0, 0.5), **warmup)
    return schedules.CosineDecayRestarts(rate, steps, t_mul=draw.pick([1.0, 2.0]), m_mul=draw.number(0.5, 1), alpha=0.1)


def draw_optimizer(draw):
    kind = draw.pick(["SGD", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lamb"])
    options = {
        "SGD": lambda: {"momentum": draw.pick([0.0, draw.number(0.1, 0.95)]), "nesterov": draw.chance(0.5)},
        "RMSprop": lambda: {"rho": draw.number(0.3, 0.95), "momentum": draw.pick([0.0, 0.5]), "centered": draw.chance(0.5)},
        "Adagrad": lambda: {"initial_accumulator_value": draw.number(0.05, 0.5)},
    }.get(kind, lambda: {"beta_1": draw.pick(BETAS), "beta_2": draw.pick(BETAS)})()
    if kind in ("Adam", "AdamW"):
        options["amsgrad"] = draw.chance(0.5)
    if kind not in ("SGD", "Adagrad"):
        options["epsilon"] = draw.pick([1e-3, 1e-5])  # with 1e-7 a gradient's rounding errors may become a whole step
    rate = draw.number(0.01, 0.2) if kind in ("SGD", "Adagrad") else draw.number(0.003, 0.05)
    options["learning_rate"] = draw_schedule(draw, rate) if draw.chance(0.4) else rate
    if draw.chance(0.25) or kind == "AdamW":
        options["weight_decay"] = draw.number(0.01, 0.3)
    if draw.chance(0.35):
        options[draw.pick(["clipnorm", "clipvalue", "global_clipnorm"])] = draw.number(0.01, 1)
    if draw.chance(0.25):
        options |= {"use_ema": True, "ema_momentum": draw.number(0.3, 0.95),
                    "ema_overwrite_frequency": draw.pick([None, 1, 2, 3])}
    if draw.chance(0.25):
        options["gradient_accumulation_steps"] = draw.whole(2, 4)
    return getattr(optimizers, kind)(**options)


def draw_input(draw):
    """A symbolic input, and how its rows are drawn."""
    kind = draw.pick(["features", "features", "pictures", "pictures", "sequence", "ids"])
    shape = {"features": [draw.whole(2, 8)], "pictures": [draw.whole(4, 8), draw.whole(4, 8), draw.whole(1, 3)],
             "sequence": [draw.whole(2, 5), draw.whole(2, 4)], "ids": [draw.whole(2, 5)]}[kind]
    if kind != "ids":
        return keras.Input(shape), None
    return keras.Input(shape), draw.whole(3, 9)


def draw_callbacks(draw, has_schedule, monitors):
    """By the words that fit_driver.cpp takes: functions that make Keras' callbacks."""
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
    """What one seed stands for: a compiled model, its data and the options of fit."""

    def __init__(self, seed):
        self.draw = draw = Draw(seed)
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed % 2**32)
        self.inputs = [draw_input(draw) for _ in range(draw.pick([1, 1, 1, 2, 2, 3]))]
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
        # Gradients that wait for an update are not in lockstep's files.
        self.fits = 1 if optimizer.gradient_accumulation_steps else draw.pick([1, 1, 2])
        self.steps = draw.pick([0, 0, 0, draw.whole(1, -(-rows // self.batch))])
        self.class_weight = self.draw_class_weight()

    def make_model(self):
        draw = self.draw
        starts = []
        for symbol, ids in self.inputs:
            table = of_weights(draw, "embeddings") if ids else {}
            starts.append(layers.Embedding(ids, draw.whole(2, 4), **table)(symbol) if ids else symbol)
        graph = Graph(draw, starts)
        for _ in range(draw.whole(0, 6)):
            graph.merge() if draw.chance(0.2) else graph.grow()
        self.heads = [draw.pick([draw_classes, draw_binary, draw_regression])(draw) for _ in range(draw.pick([1, 1, 1, 2, 3]))]
        wide = [x for x in graph.ends if len(x.shape) > 2]
        vector = graph.vector()
        outputs = []
        for head in self.heads:
            x = draw.pick(wide) if wide and outputs and draw.chance(0.5) else vector
            make = {2: layers.Dense, 4: lambda units: layers.Conv2D(units, 1),
                    3: lambda units: layers.LSTM(units, return_sequences=True)}[len(x.shape)]
            last = make(head.units)
            outputs.append(layers.Activation(head.activation)(last(x)))
        self.model = keras.Model([symbol for symbol, _ in self.inputs], outputs)
        self.synchronized = draw.chance(0.7)
        for layer in self.model.layers:
            layer.trainable = layer is last or isinstance(layer, layers.InputLayer) or not draw.chance(0.1)
        for variable in self.model.variables:
            variable.assign(variable.value + draw.random.uniform(0.01, 0.1, variable.shape))
        self.compile()

    def compile(self):
        for head in self.heads[1:]:
            head.loss = head.loss if self.draw.chance(0.9) else None
        chosen = [self.draw.some(head.metrics, 0.4) for head in self.heads]
        weighted = [[metric for metric in of_one if self.draw.chance(0.3)] for of_one in chosen]
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
        """Inputs, targets and sample weights or None."""
        random = self.draw.random
        x = [random.integers(0, ids, (rows, *symbol.shape[1:])) if ids else random.normal(0, 1, (rows, *symbol.shape[1:]))
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
        """Whether it is to be the same on any number of replicas."""
        return self.synchronized or not any(isinstance(layer, layers.BatchNormalization) for layer in self.model.layers)

    def text(self):
        """The case in words: layers with their options, and the options of compile and fit."""
        lines = []
        for layer in self.model.layers:
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
