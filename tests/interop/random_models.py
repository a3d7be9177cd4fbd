"""Random models of the layers that both Keras and lockstep have: as Keras' objects, and as a description of JSON, which
files_fuzz_driver.cpp makes the same model of.

{"pool": [{"class": ..., "config": ...} or {"model": {"name", "sequential", "inputs": [{"name", "shape"}],
"calls": [{"layer": number in the pool, "inputs": [[call, result], ...], "rank": of the first result}], "outputs"}}],
"model": number in the pool}; call -1 - i stands for input i.
"""

import keras
import numpy as np
from keras import layers, losses, metrics, optimizers

ODD_NAMES = ["dense", "dense_1", "dense_1_1", "conv2d", "layers", "vars", "cell", "optimizer", "0", "1", "a b", "a  b ",
             "naïve", "層", "😀", "x:0", "a.b", "-", "kernel", "Dense", "model_weights",
             "input_layer_1", "functional", "%s", "{}", '"', "\\", "\\n", "'", "#", "n" * 200, "é" * 60, "a_b", "a_b_1",
             "tab\t", "null", "weight_names", "layer_names", "outer", "outer_dense"]
ACTIVATIONS = ["linear", "relu", "tanh", "sigmoid", "softmax", "elu", "selu", "softplus", "softsign", "gelu", "silu",
               "hard_sigmoid", "exponential"]
REGULARIZERS = [("L1", {"l1": 0.5}), ("L2", {"l2": 0.25}), ("L1L2", {"l1": 0.5, "l2": 0.125})]
CONSTRAINTS = [("MaxNorm", {"max_value": 2.0, "axis": 0}), ("NonNeg", {}), ("UnitNorm", {"axis": 0}),
               ("MinMaxNorm", {"min_value": 0.5, "max_value": 2.0, "rate": 0.25, "axis": 0})]
MOST_ELEMENTS = 3000  # of an example


def serialized(module, of):
    return {"module": f"keras.{module}", "class_name": of[0], "config": of[1], "registered_name": None}


class Generator:
    """Draws one model and makes it in Keras."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.pool = []
        self.made = []  # Keras' layer or model of each entry
        self.inputs_of = []  # by entry: the shapes that it was called on at first
        self.all_named = self.chance(0.5)
        self.names = ODD_NAMES if self.chance(0.6) else ["dense", "dense_1", "a", "b", "dense_2"]
        self.mixed = self.chance(0.07)
        self.large = self.chance(0.04)

    def chance(self, share):
        return self.random.random() < share

    def one_of(self, list):
        return list[self.random.integers(len(list))]

    def size(self, most=5):
        return int(self.random.integers(1, most + 1))

    def name(self, taken):
        """For a layer of a model that has these names; None for Keras' choice."""
        if not self.all_named:
            return None
        name = self.one_of(self.names)
        while name in taken:
            name += self.one_of(["_1", "_2", "x", "_"])
        taken.add(name)
        return name

    def freeze(self):
        """Models as a whole, one of whose layers may be said to train all the same."""
        for number, entry in enumerate(self.pool):
            if "model" in entry and self.chance(0.1):
                self.made[number].trainable = False
                if self.chance(0.3):
                    self.one_of(self.made[number].layers).trainable = True
        trained = {id(variable) for variable in self.made[-1].trainable_variables}
        for entry, made in zip(self.pool, self.made):
            if "config" in entry and made.weights:
                entry["config"]["trainable"] = any(id(weight) in trained for weight in made.weights)

    def has_models_in_sequences(self):
        """Which lockstep's Sequential cannot hold."""
        return any(entry["model"]["sequential"] and any("model" in self.pool[call["layer"]] for call in entry["model"]["calls"])
                   for entry in self.pool if "model" in entry)

    def spec(self):
        keras.backend.clear_session()
        number = self.model(depth=0)
        return {"pool": self.pool, "model": number}

    # Options of layers, by what they are called on.

    def weight_options(self, *weights):
        options = {}
        for weight in weights:
            if self.chance(0.15):
                options[f"{weight}_regularizer"] = serialized("regularizers", self.one_of(REGULARIZERS))
            if self.chance(0.15):
                options[f"{weight}_constraint"] = serialized("constraints", self.one_of(CONSTRAINTS))
        return options

    def bias_options(self, *weights):
        """Of layers with these weights, and perhaps a bias."""
        return {"use_bias": self.chance(0.8), "activation": self.one_of(ACTIVATIONS), **self.weight_options(*weights, "bias")}

    def any_options(self):
        slope, alpha = self.one_of([0.1, 0.3, 0.0]), self.one_of([1.0, 0.5])
        return [("BatchNormalization", {"momentum": self.one_of([0.9, 0.99]), "epsilon": self.one_of([1e-3, 0.01])}),
                ("LayerNormalization", {"epsilon": self.one_of([1e-3, 0.01])}),
                ("Activation", {"activation": self.one_of(ACTIVATIONS)}),
                ("LeakyReLU", {"negative_slope": slope}), ("ELU", {"alpha": alpha}), ("ReLU", {}), ("Softmax", {}),
                ("Dropout", {"rate": self.one_of([0.0, 0.25, 0.5])}), ("Flatten", {})]

    def image_options(self, shape):
        kernel = [self.size(3), self.size(3)]
        slides = self.chance(0.7)
        window = {"strides": [self.size(2), self.size(2)] if slides else [1, 1], "padding": self.one_of(["same", "valid"])}
        conv = {"kernel_size": kernel, **window, "dilation_rate": [1, 1] if slides else [self.size(2), self.size(2)]}
        square = {**conv, "strides": [window["strides"][0]] * 2}  # which Keras asks depthwise ones for
        groups = self.one_of([g for g in range(1, shape[-1] + 1) if shape[-1] % g == 0])
        return [("Conv2D", {"filters": groups * self.size(3), **conv, "groups": groups, **self.bias_options("kernel")}),
                ("DepthwiseConv2D", {"depth_multiplier": self.size(2), **square, **self.bias_options("depthwise")}),
                ("SeparableConv2D", {"filters": self.size(), "depth_multiplier": self.size(2), **square,
                                     **self.bias_options("depthwise", "pointwise")}),
                ("MaxPooling2D", {"pool_size": kernel, **window}), ("AveragePooling2D", {"pool_size": kernel, **window}),
                ("GlobalMaxPooling2D", {"keepdims": self.chance(0.3)}),
                ("GlobalAveragePooling2D", {"keepdims": self.chance(0.3)}),
                ("ZeroPadding2D", {"padding": [[self.size(2) - 1, self.size(2)], [self.size(2), self.size(2) - 1]]}),
                ("Reshape", {"target_shape": [shape[0] * shape[1], shape[2]]})]

    def sequence_options(self):
        recurrent = {"units": self.size(), "return_sequences": self.chance(0.5), "go_backwards": self.chance(0.2),
                     "use_bias": self.chance(0.8), **self.weight_options("kernel", "recurrent", "bias")}
        if self.chance(0.4):
            recurrent["activation"] = self.one_of(["tanh", "relu", "linear"])
            recurrent["recurrent_activation"] = self.one_of(["sigmoid", "hard_sigmoid"])
        return [("LSTM", {**recurrent, "unit_forget_bias": self.chance(0.5)}),
                ("GRU", {**recurrent, "reset_after": self.chance(0.5)})]

    def options(self, shape, ids):
        """A class and its options, for a layer that is called on such a result."""
        if ids:
            return "Embedding", {"input_dim": 9, "output_dim": self.size(), **self.weight_options("embeddings")}
        choices = []
        if len(shape) == 3:
            choices += self.image_options(shape) * 2
        if len(shape) == 2:
            choices += self.sequence_options() * 2
        if len(shape) == 1:
            choices += [("Dense", {"units": self.size(), **self.bias_options("kernel")})] * 5
            if shape[0] % 2 == 0:
                choices += [("Reshape", {"target_shape": [shape[0] // 2, 2]})]
        return self.one_of(choices + self.any_options())

    # Models.

    def add(self, entry, made, shapes):
        self.pool.append(entry)
        self.made.append(made)
        self.inputs_of.append(shapes)
        return len(self.pool) - 1

    def layer(self, class_name, options, shapes, taken):
        config = {**options, "trainable": not self.chance(0.15)}
        name = self.name(taken)
        if name is not None:
            config["name"] = name
        if self.mixed and self.chance(0.7):
            config["dtype"] = "mixed_bfloat16"
        made = getattr(layers, class_name)(**config)
        return self.add({"class": class_name, "config": {"name": "", **config}}, made, shapes)

    def model(self, depth, shapes=None, taken=None):
        """The number of a new model, on inputs of these shapes or of random ones."""
        return Draft(self, depth, shapes, self.name(taken if taken is not None else set())).finish()


class Draft:
    """A model that is being made."""

    def __init__(self, generator, depth, shapes, name):
        self.generator, self.depth, self.model_name = generator, depth, name
        g = generator
        self.sequential = g.chance(0.35 if shapes is None or len(shapes) == 1 else 0)
        self.taken = set()
        self.members = {}  # by the name that it has here: number in the pool
        if shapes is None:
            shapes = [self.random_shape() for _ in range(1 if self.sequential else g.one_of([1, 1, 2, 3]))]
        self.ids = [shape[0] == 0 for shape in shapes]
        self.inputs = []
        for shape in shapes:
            self.inputs.append(keras.Input([size for size in shape if size], name=g.name(self.taken)))
        self.calls = []
        self.results = []  # (reference, symbol, whether it is one of ids)
        self.read = set()
        for i, symbol in enumerate(self.inputs):
            self.results.append(((-1 - i, 0), symbol, self.ids[i]))

    def random_shape(self):
        """A 0 before the size stands for ids."""
        g = self.generator
        return g.one_of([[g.size(8)], [g.size(8)], [g.size(4), g.size(4)], [g.size(6) + 2, g.size(6) + 2, g.size(4)],
                         [0, g.size(5)]])

    def shape(self, symbol):
        return [int(size) for size in symbol.shape[1:]]

    def call(self, number, from_results):
        """Adds a call of an entry of the pool, and its results."""
        made = self.generator.made[number]
        symbols = [result[1] for result in from_results]
        outputs = made(symbols[0] if len(symbols) == 1 else symbols)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        self.read.update(result[0] for result in from_results)
        self.calls.append({"layer": number, "inputs": [list(result[0]) for result in from_results],
                           "rank": len(outputs[0].shape) - 1})
        for i, output in enumerate(outputs):
            self.results.append(((len(self.calls) - 1, i), output, False))
        self.members[made.name] = number

    def call_new(self, result):
        g, shape = self.generator, self.shape(result[1])
        while True:
            class_name, options = g.options(shape, result[2])
            kernel = options.get("kernel_size", options.get("pool_size"))
            if kernel and options["padding"] == "valid":
                reach = [(k - 1) * d + 1 for k, d in zip(kernel, options.get("dilation_rate", [1, 1]))]
                if any(r > size for r, size in zip(reach, shape)):
                    continue
            if class_name == "ZeroPadding2D" and np.prod(shape) > MOST_ELEMENTS / 4:
                continue
            break
        self.call(g.layer(class_name, options, [shape], self.taken), [result])

    def call_model(self, from_results):
        shapes = [([0] if result[2] else []) + self.shape(result[1]) for result in from_results]
        number = self.generator.model(self.depth + 1, shapes, self.taken)
        self.generator.inputs_of[number] = shapes
        self.call(number, from_results)

    def call_again(self, result):
        """A layer or model that has been called before, here or in another model."""
        g = self.generator
        shape = [([0] if result[2] else []) + self.shape(result[1])]
        plain = [self.shape(result[1])]
        anywhere = g.chance(0.2)  # Keras itself mixes up many such models
        fit = [number for number, made in enumerate(g.made)
               if (anywhere or self.members.get(made.name) == number) and g.inputs_of[number] == (shape if "model" in g.pool[number] else plain) and
               (g.pool[number].get("class") == "Embedding" or not result[2]) and
               self.members.get(made.name, number) == number and
               (made.name not in self.taken or self.members.get(made.name) == number)]
        if not fit:
            return self.call_new(result)
        number = g.one_of(fit)
        self.taken.add(g.made[number].name)
        return self.call(number, [result])

    def call_merge(self, result):
        g = self.generator
        alike = [other for other in self.results if not other[2] and self.shape(other[1]) == self.shape(result[1])]
        beside = [other for other in self.results if not other[2] and self.shape(other[1])[:-1] == self.shape(result[1])[:-1]]
        if result[2]:
            return self.call_new(result)
        adds = len(alike) > 1 and g.chance(0.5)
        others = [g.one_of(alike if adds else beside) for _ in range(g.size(2))]
        name, options = ("Add", {}) if adds else ("Concatenate", {"axis": g.one_of([-1, len(self.shape(result[1]))])})
        from_results = [result, *others]
        number = g.layer(name, options, [self.shape(part[1]) for part in from_results], self.taken)
        return self.call(number, from_results)

    def step(self):
        g = self.generator
        unread = [result for result in self.results if result[0] not in self.read]
        result = g.one_of(unread) if unread and g.chance(0.8) else g.one_of(self.results)
        kind = g.random.random()
        if self.depth < 3 and kind < (0.3 if self.depth == 0 and not g.large else 0.1):
            extra = [g.one_of(self.results)] if g.chance(0.3) else []
            return self.call_model([result, *extra])
        if kind < 0.45:
            return self.call_again(result)
        if kind < 0.6:
            return self.call_merge(result)
        return self.call_new(result)

    def finish(self):
        g = self.generator
        count = g.size(6 if self.depth == 0 else 4)
        if g.large and self.depth == 0:
            count = int(g.random.integers(250, 400))
        made = self.finish_sequential(count) if self.sequential else self.finish_functional(count)
        spec = {"name": made.name, "sequential": self.sequential,
                "inputs": [{"name": symbol.name, "shape": self.shape(symbol)} for symbol in self.inputs],
                "calls": self.calls, "outputs": [list(reference) for reference in self.outputs]}
        return g.add({"model": spec}, made, None)

    def finish_sequential(self, count):
        g = self.generator
        for _ in range(count):
            result = self.results[-1]
            before = len(self.calls)
            if self.depth < 3 and g.chance(0.15):
                self.call_model([result])
                if len(self.results) - len(self.inputs) > before + 1:  # of several results, which cannot stand here
                    del self.calls[before:], self.results[before + 1:]
                    self.members.pop(g.made[-1].name)
            else:
                self.call_new(result)
        if not self.calls:
            self.call_new(self.results[0])
        self.outputs = [self.results[-1][0]]
        return keras.Sequential([self.inputs[0], *(g.made[call["layer"]] for call in self.calls)], name=self.model_name)

    def finish_functional(self, count):
        g = self.generator
        for _ in range(count):
            self.step()
        for i in range(len(self.inputs)):
            if (-1 - i, 0) not in self.read:
                self.call_new(self.results[i])
        ends = [result for result in self.results if result[0] not in self.read]
        if g.chance(0.2):
            ends.append(g.one_of(self.results[len(self.inputs):]))
        g.random.shuffle(order := list(range(len(ends))))
        ends = [ends[i] for i in order]
        self.outputs = [result[0] for result in ends]
        inputs = self.inputs if len(self.inputs) > 1 else self.inputs[0]
        outputs = [result[1] for result in ends]
        return keras.Model(inputs, outputs if len(outputs) > 1 else outputs[0], name=self.model_name)


REGRESSIONS = [("MeanSquaredError", {}), ("MeanAbsoluteError", {}), ("Huber", {"delta": 0.5}), ("LogCosh", {})]
OTHER_LOSSES = [("Poisson", {}), ("KLDivergence", {}), ("MeanAbsolutePercentageError", {}),
                ("MeanSquaredLogarithmicError", {}), ("CategoricalCrossentropy", {"label_smoothing": 0.25}),
                ("BinaryCrossentropy", {"from_logits": True}), ("SparseCategoricalCrossentropy", {"from_logits": True})]
OF_NUMBERS = [("MeanSquaredError", {}), ("MeanAbsoluteError", {}), ("BinaryAccuracy", {}),
              ("BinaryAccuracy", {"threshold": 0.25})]
OTHER_METRICS = [("CategoricalAccuracy", {}), ("SparseCategoricalAccuracy", {}), ("TopKCategoricalAccuracy", {"k": 2}),
                 ("SparseTopKCategoricalAccuracy", {"k": 3}), ("Precision", {}), ("Recall", {"thresholds": 0.25}),
                 ("AUC", {"num_thresholds": 10}), ("AUC", {"curve": "PR"})]


def random_schedule(draw):
    schedules = optimizers.schedules
    return draw.one_of([schedules.ExponentialDecay(0.125, 2, 0.5, staircase=draw.chance(0.5)),
                        schedules.InverseTimeDecay(0.25, 3, 0.5), schedules.PolynomialDecay(0.25, 4, cycle=draw.chance(0.5)),
                        schedules.PiecewiseConstantDecay([1, 3], [0.5, 0.25, 0.125]),
                        schedules.CosineDecay(0.125, 5, alpha=0.25, warmup_target=draw.one_of([None, 0.5]), warmup_steps=2),
                        schedules.CosineDecayRestarts(0.125, 3, t_mul=2.0, m_mul=0.5)])


def random_optimizer(draw):
    rate = random_schedule(draw) if draw.chance(0.25) else draw.one_of([0.125, 0.01, 0.001])
    common = {}
    if draw.chance(0.3):
        common[draw.one_of(["clipnorm", "global_clipnorm", "clipvalue"])] = 0.5
    if draw.chance(0.2):
        common.update(use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=draw.one_of([None, 2]))
    if draw.chance(0.2):
        common["gradient_accumulation_steps"] = 2
    if draw.chance(0.2):
        common["weight_decay"] = 0.25
    momentum = draw.one_of([0.0, 0.75])
    name, options = draw.one_of([("SGD", {"momentum": momentum, "nesterov": draw.chance(0.5)}),
                                 ("Adam", {"beta_1": 0.5, "amsgrad": draw.chance(0.3)}),
                                 ("AdamW", {"beta_2": 0.75, "amsgrad": draw.chance(0.3)}),
                                 ("RMSprop", {"momentum": momentum, "centered": draw.chance(0.3)}),
                                 ("Adagrad", {"initial_accumulator_value": 0.25}), ("Lamb", {"epsilon": 1e-5})])
    return getattr(optimizers, name)(rate, **options, **common)


def random_metrics(draw, kinds):
    """Each of another class, since lockstep takes no two of one name."""
    drawn = dict(draw.one_of(kinds) for _ in range(int(draw.random.integers(0, 3))))
    return [getattr(metrics, name)(**options) for name, options in drawn.items()]


def ends_of(symbols):
    """The names of the layers that give a model's inputs or outputs."""
    return [symbol._keras_history.operation.name for symbol in symbols]


def compile_randomly(draw, model):
    """Whether it can be trained on any targets of the outputs' shapes."""
    count = len(model.outputs)
    trains = draw.chance(0.7)
    kinds = REGRESSIONS if trains else REGRESSIONS + OTHER_LOSSES
    measures = OF_NUMBERS if trains else OF_NUMBERS + OTHER_METRICS
    make = lambda: getattr(losses, (kind := draw.one_of(kinds))[0])(**kind[1])
    loss = [make() for _ in range(count)]
    if count == 1 or draw.chance(0.2):
        loss = loss[0]
    elif draw.chance(0.2) and len(set(ends_of(model.outputs))) == count:
        loss = dict(zip(ends_of(model.outputs), loss))
    elif draw.chance(0.2):
        loss[int(draw.random.integers(count - 1))] = None
    measured = [random_metrics(draw, measures) for _ in range(count)] if draw.chance(0.5) else None
    weights = [draw.one_of([1.0, 0.5]) for _ in range(count)] if draw.chance(0.3) and isinstance(loss, list) else None
    model.compile(random_optimizer(draw), loss, loss_weights=weights,
                  metrics=measured if measured is None or count > 1 else measured[0])
    return trains


def take_steps(draw, model):
    """Steps of random gradients."""
    variables = model.trainable_variables
    steps = int(draw.random.integers(0, 3)) * (model.optimizer.gradient_accumulation_steps or 1)
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
