"""Random models of layers that both Keras and lockstep have, and random optimizers: for files_fuzz.py and fit_fuzz.py.

Models are created as Keras' objects, and as a JSON description, from which files_fuzz_driver.cpp creates the same
model:

{"pool": [{"class": ..., "config": ...} or {"model": {"name", "sequential", "inputs": [{"name", "shape"}],
"calls": [{"layer": number in the pool, "inputs": [[call, result], ...], "rank": of the first result}], "outputs"}}],
"model": number in the pool}; call -1 - i stands for input i.
"""

import keras
import numpy as np
from keras import layers, optimizers

ODD_NAMES = ["dense", "dense_1", "dense_1_1", "conv2d", "layers", "vars", "cell", "optimizer", "0", "1", "a b", "a  b ",
             "naïve", "層", "😀", "x:0", "a.b", "-", "kernel", "Dense", "model_weights",
             "input_layer_1", "functional", "%s", "{}", '"', "\\", "\\n", "'", "#", "n" * 200, "é" * 60, "a_b", "a_b_1",
             "tab\t", "null", "weight_names", "layer_names", "outer", "outer_dense"]
CURVED = ["sigmoid", "silu", "softplus", "softsign", "tanh", "gelu"]
ACTIVATIONS = ["linear", "relu", "relu6", "leaky_relu", "elu", "selu", "hard_sigmoid", "softmax", "log_softmax", *CURVED]
ELEMENTWISE_MERGES = ["Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"]
MOST_ELEMENTS = 3000  # in an example
IDS = 9  # number of ids that embeddings accept
BETAS = [0.5, 0.75, 0.875, 0.9375]  # for others, Keras' 1 - beta^t loses digits


class Draw:
    """Random numbers of one seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def whole(self, low, high):
        """An integer from `low` to `high`, both included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, share):
        return bool(self.random.random() < share)

    def pick(self, values):
        return values[self.whole(0, len(values) - 1)]

    def number(self, low, high):
        """A number with few digits, so that printed cases are readable."""
        return float(f"{self.random.uniform(low, high):.3g}")

    def some(self, values, share):
        return [value for value in values if self.chance(share)]


def serialized(module, name, config):
    return {"module": f"keras.{module}", "class_name": name, "config": config, "registered_name": None}


class Generator:
    """Creates models in Keras. Models for `trainings` have no unusual names and nothing that amplifies rounding
    errors."""

    def __init__(self, draw, trainings=False):
        self.draw, self.trainings = draw, trainings
        self.pool = []
        self.made = []  # Keras' layer or model for each entry
        self.inputs_of = []  # for each entry: the shapes with which it was first called
        self.names = None
        if not trainings and draw.chance(0.5):
            self.names = ODD_NAMES if draw.chance(0.6) else ["dense", "dense_1", "a", "b", "dense_2"]
        self.mixed = not trainings and draw.chance(0.07)
        self.large = not trainings and draw.chance(0.04)
        self.drops = draw.chance(0.3)  # whether results may stay unused

    def name(self, taken):
        """A name for a layer of a model that already has these names; None for Keras' choice."""
        if self.names is None:
            return None
        name = self.draw.pick(self.names)
        while name in taken:
            name += self.draw.pick(["_1", "_2", "x", "_"])
        taken.add(name)
        return name

    def freeze(self):
        """Makes some models not trainable as a whole, and then perhaps one of their layers trainable again."""
        for number, entry in enumerate(self.pool):
            if "model" in entry and self.draw.chance(0.1):
                self.made[number].trainable = False
                if self.draw.chance(0.3):
                    self.draw.pick(self.made[number].layers).trainable = True
        trained = {id(variable) for variable in self.made[-1].trainable_variables}
        for entry, made in zip(self.pool, self.made):
            if "config" in entry and made.weights:
                entry["config"]["trainable"] = any(id(weight) in trained for weight in made.weights)

    def has_models_in_sequences(self):
        """Whether lockstep's Sequential cannot contain the entry."""
        return any(entry["model"]["sequential"] and any("model" in self.pool[call["layer"]] for call in entry["model"]["calls"])
                   for entry in self.pool if "model" in entry)

    def spec(self):
        keras.backend.clear_session()
        number = self.model(depth=0)
        return {"pool": self.pool, "model": number}

    # Options of layers, by the kind of their input.

    def penalty(self):
        name = self.draw.pick(["L1", "L2", "L1L2"])
        factors = {"L1": ["l1"], "L2": ["l2"], "L1L2": ["l1", "l2"]}[name]
        return serialized("regularizers", name, {factor: self.draw.number(1e-3, 0.05) for factor in factors})

    def constraint(self):
        draw = self.draw
        name = draw.pick(["MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"])
        config = {"MaxNorm": {"max_value": draw.number(0.2, 2), "axis": draw.pick([0, -1])},
                  "MinMaxNorm": {"min_value": draw.number(0.1, 0.5), "max_value": draw.number(0.6, 2),
                                 "rate": draw.number(0.1, 1), "axis": 0}, "UnitNorm": {"axis": 0}}
        return serialized("constraints", name, config.get(name, {}))

    def weight_options(self, *weights):
        """Penalties and constraints for the weights with these names."""
        options = {f"{name}_constraint": self.constraint() for name in self.draw.some(weights, 0.12)}
        for name in self.draw.some(weights, 0.12):
            # With JAX, Keras' penalties have another gradient at weights of 0: l1 instead of TensorFlow's 0.
            is_zero = options.get(f"{name}_constraint", {}).get("class_name") == "NonNeg"
            if not self.trainings or not is_zero:
                options[f"{name}_regularizer"] = self.penalty()
        return options

    def activation(self):
        return self.draw.pick(ACTIVATIONS if self.trainings else [*ACTIVATIONS, "exponential"])

    def bias_options(self, *weights):
        """Options of layers with these weights, and perhaps a bias."""
        return {"use_bias": self.draw.chance(0.8), "activation": self.activation(), **self.weight_options(*weights, "bias")}

    def any_options(self, shape):
        draw = self.draw
        parts = lambda: {"center": not draw.chance(0.2), "scale": not draw.chance(0.2)}
        relu = {"max_value": draw.pick([None, None, 6.0, 0.5]), "negative_slope": draw.pick([0.0, 0.0, 0.25])}
        found = [("BatchNormalization", {"momentum": draw.number(0.3, 0.99), "epsilon": draw.pick([1e-3, 0.01]), **parts()}),
                 ("Activation", {"activation": self.activation()}), ("LeakyReLU", {"negative_slope": draw.pick([0.1, 0.3, 0.0])}),
                 ("ELU", {"alpha": draw.pick([1.0, 0.5])}), ("ReLU", relu), ("Softmax", {}), ("Flatten", {}),
                 ("Dropout", {"rate": 0.0 if self.trainings else draw.pick([0.0, 0.25, 0.5])})]
        if shape[-1] > 2:  # with fewer, nearly equal values would give rounding errors as large as the result
            found.append(("LayerNormalization", {"epsilon": draw.pick([1e-3, 0.01]), **parts(),
                                                 **self.weight_options("gamma", "beta")}))
        if len(shape) > 1:
            found.append(("Permute", {"dims": [int(axis) for axis in draw.random.permutation(len(shape)) + 1]}))
        return found

    def image_options(self, shape):
        draw = self.draw
        pair = lambda most: [draw.whole(1, most), draw.whole(1, most)]
        slides = draw.chance(0.7)
        kernel = pair(3)
        window = {"strides": pair(2) if slides else [1, 1], "padding": draw.pick(["same", "valid"])}
        conv = {"kernel_size": kernel, **window, "dilation_rate": [1, 1] if slides else pair(2)}
        square = {**conv, "strides": [window["strides"][0]] * 2}  # depthwise: Keras requires equal strides
        groups = draw.pick([g for g in range(1, shape[-1] + 1) if shape[-1] % g == 0])
        multiplier = {"depth_multiplier": draw.whole(1, 2)}
        return [("Conv2D", {"filters": groups * draw.whole(1, 3), **conv, "groups": groups, **self.bias_options("kernel")}),
                ("DepthwiseConv2D", {**multiplier, **square, **self.bias_options("depthwise")}),
                ("SeparableConv2D", {"filters": draw.whole(1, 5), **multiplier, **square,
                                     **self.bias_options("depthwise", "pointwise")}),
                ("MaxPooling2D", {"pool_size": kernel, **window}), ("AveragePooling2D", {"pool_size": kernel, **window}),
                ("GlobalMaxPooling2D", {"keepdims": draw.chance(0.3)}),
                ("GlobalAveragePooling2D", {"keepdims": draw.chance(0.3)}),
                ("ZeroPadding2D", {"padding": [[draw.whole(0, 1), draw.whole(1, 2)], [draw.whole(1, 2), draw.whole(0, 1)]]}),
                ("Reshape", {"target_shape": [shape[0] * shape[1], shape[2]]})]

    def sequence_options(self):
        draw = self.draw
        recurrent = {"units": draw.whole(1, 5), "return_sequences": draw.chance(0.5), "go_backwards": draw.chance(0.3),
                     "use_bias": draw.chance(0.8), **self.weight_options("kernel", "recurrent")}
        if draw.chance(0.4):
            recurrent["activation"] = draw.pick(CURVED if self.trainings else [*CURVED, "relu", "linear"])
            recurrent["recurrent_activation"] = draw.pick(["sigmoid", "hard_sigmoid"])
        if not self.trainings:
            recurrent |= self.weight_options("bias")
        return [("LSTM", {**recurrent, "unit_forget_bias": draw.chance(0.7)}),
                ("GRU", {**recurrent, "reset_after": draw.chance(0.6)})]

    def options(self, shape, ids):
        """A class and its options for a layer that can be called with such an input."""
        draw = self.draw
        if ids:
            return "Embedding", {"input_dim": IDS, "output_dim": draw.whole(1, 5), **self.weight_options("embeddings"),
                                 "mask_zero": not self.trainings and draw.chance(0.4)}
        dense = ("Dense", {"units": draw.whole(1, 6), **self.bias_options("kernel")})
        choices = [dense] * (5 if len(shape) == 1 else 1)
        if len(shape) == 3:
            choices += self.image_options(shape) * 2
        if len(shape) == 2:
            choices += self.sequence_options() * 2
        if len(shape) == 1 and shape[0] % 2 == 0:
            choices += [("Reshape", {"target_shape": [shape[0] // 2, 2]})]
        return draw.pick(choices + self.any_options(shape))

    # Models.

    def add(self, entry, made, shapes):
        self.pool.append(entry)
        self.made.append(made)
        self.inputs_of.append(shapes)
        return len(self.pool) - 1

    def layer(self, class_name, options, shapes, taken):
        config = {**options, "trainable": not self.draw.chance(0.12)}
        name = self.name(taken)
        if name is not None:
            config["name"] = name
        if self.mixed and self.draw.chance(0.7):
            config["dtype"] = "mixed_bfloat16"
        made = getattr(layers, class_name)(**config)
        return self.add({"class": class_name, "config": {"name": "", **config}}, made, shapes)

    def model(self, depth, shapes=None, taken=None):
        """Creates a model with inputs of these shapes, or of random ones; returns its number."""
        draft = Draft(self, depth, shapes, self.name(taken if taken is not None else set()))
        number = draft.finish()
        self.ids = draft.ids  # finally, of the outermost model
        return number


def has_mask(symbol):
    """Softmax takes the mask of a sequence for one of its elements, so it, and models that may hold one, get none."""
    return getattr(symbol, "_keras_mask", None) is not None


class Draft:
    """A model under construction."""

    def __init__(self, generator, depth=0, shapes=None, name=None):
        self.generator, self.draw, self.depth, self.model_name = generator, generator.draw, depth, name
        draw = self.draw
        self.sequential = not generator.trainings and draw.chance(0.35 if shapes is None or len(shapes) == 1 else 0)
        self.taken = set()
        self.members = {}  # number in the pool, by name within this model
        if shapes is None:
            shapes = [self.random_shape() for _ in range(1 if self.sequential else draw.pick([1, 1, 2, 3]))]
        self.ids = [shape[0] == 0 for shape in shapes]
        self.inputs = []
        for shape in shapes:
            self.inputs.append(keras.Input([size for size in shape if size], name=generator.name(self.taken)))
        self.calls = []
        self.results = []  # (reference, symbol, whether its values are ids)
        self.read = set()
        for i, symbol in enumerate(self.inputs):
            self.results.append(((-1 - i, 0), symbol, self.ids[i]))

    def random_shape(self):
        """Adds an input; a 0 before the size means ids."""
        least = 2 if self.generator.trainings else 1
        size = lambda most: self.draw.whole(least, most)
        return self.draw.pick([[size(8)], [size(8)], [size(5), size(4)], [size(6) + 2, size(6) + 2, size(4)], [0, size(5)]])

    def shape(self, symbol):
        return [int(size) for size in symbol.shape[1:]]

    def unread(self):
        return [result for result in self.results if result[0] not in self.read]

    def call(self, number, from_results):
        """Adds a call of an entry of the pool, and its results; returns the first one."""
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
        return self.results[-len(outputs)]

    def call_layer(self, class_name, options, result):
        return self.call(self.generator.layer(class_name, options, [self.shape(result[1])], self.taken), [result])

    def before_normalization(self, result):
        """A bias there would have a gradient of 0, and so receive only rounding errors; the same holds for kernels over
        few features, and for a bias followed only by piecewise linear functions, such as leaky ReLU."""
        result = self.call_layer("Activation", {"activation": self.draw.pick(CURVED)}, result)
        units, plain = self.draw.whole(2, 6), {"use_bias": False, "activation": "linear"}
        shape = self.shape(result[1])
        rank = len(shape)
        if rank == 2 or shape[-1] < 3 or self.draw.chance(0.5):
            return result
        if rank == 1:
            return self.call_layer("Dense", {"units": units, **plain}, result)
        return self.call_layer("Conv2D", {"filters": units, "kernel_size": [1, 1], **plain}, result)

    def call_new(self, result):
        shape = self.shape(result[1])
        while True:
            class_name, options = self.generator.options(shape, result[2])
            kernel = options.get("kernel_size", options.get("pool_size"))
            if kernel and options["padding"] == "valid":
                reach = [(k - 1) * d + 1 for k, d in zip(kernel, options.get("dilation_rate", [1, 1]))]
                if any(r > size for r, size in zip(reach, shape)):
                    continue
            if class_name == "Softmax" and has_mask(result[1]):
                continue
            if class_name == "ZeroPadding2D" and np.prod(shape) > MOST_ELEMENTS / 4:
                continue
            break
        if class_name == "BatchNormalization" and self.generator.trainings:
            result = self.before_normalization(result)
        self.call_layer(class_name, options, result)

    def call_model(self, from_results):
        if any(has_mask(result[1]) for result in from_results):
            return self.call_new(from_results[0])
        shapes = [([0] if result[2] else []) + self.shape(result[1]) for result in from_results]
        number = self.generator.model(self.depth + 1, shapes, self.taken)
        self.generator.inputs_of[number] = shapes
        self.call(number, from_results)

    def may_be_called_again(self, number, result):
        entry = self.generator.pool[number]
        if has_mask(result[1]) and ("model" in entry or entry["class"] == "Softmax"):
            return False
        if "model" in entry:
            return self.generator.inputs_of[number] == [([0] if result[2] else []) + self.shape(result[1])]
        if entry["config"].get("activation") == "exponential":  # exceeds f32
            return False
        if self.generator.trainings and entry["class"] == "BatchNormalization":
            return False
        return (entry["class"] == "Embedding") == result[2] and self.generator.inputs_of[number] == [self.shape(result[1])]

    def call_again(self, result):
        """Calls a layer or model that has been called before, here or in another model."""
        # Keras mixes up many such models, and loses unused results when they are flattened.
        anywhere = not self.generator.trainings and not self.generator.drops and self.draw.chance(0.2)
        fit = [number for number, made in enumerate(self.generator.made)
               if (self.members.get(made.name) == number or anywhere and made.name not in self.taken) and
               self.may_be_called_again(number, result)]
        if not fit:
            return self.call_new(result)
        number = self.draw.pick(fit)
        self.taken.add(self.generator.made[number].name)
        self.call(number, [result])

    def call_merge(self, result):
        if result[2]:
            return self.call_new(result)
        shape = self.shape(result[1])
        alike = [other for other in self.results if not other[2] and self.shape(other[1]) == shape]
        beside = [other for other in self.results if not other[2] and self.shape(other[1])[:-1] == shape[:-1]]
        adds = len(alike) > 1 and self.draw.chance(0.5)
        others = [self.draw.pick(alike if adds else beside) for _ in range(self.draw.whole(1, 5))]
        name, options = "Concatenate", {"axis": self.draw.pick([-1, len(shape)])}
        if adds:
            # Products amplify rounding errors, differences of equals are nothing else, and Keras over JAX has other
            # gradients than TensorFlow for the largest of equals.
            name, options = self.draw.pick(["Add", "Average"] if self.generator.trainings else ELEMENTWISE_MERGES), {}
            others = others[:1] if name == "Subtract" else others
        from_results = [result, *others]
        number = self.generator.layer(name, options, [self.shape(part[1]) for part in from_results], self.taken)
        self.call(number, from_results)

    def ends(self):
        """The results that are unused so far, which become outputs; some may be dropped."""
        ends = self.unread()
        for end in list(ends) if self.generator.drops else []:
            others = [result for result in self.results if result[0][0] == end[0][0] and result is not end]
            if any(other[0] in self.read or any(other is kept for kept in ends) for other in others) and self.draw.chance(0.5):
                ends = [other for other in ends if other is not end]
        return ends

    def step(self):
        draw, unread = self.draw, self.unread()
        result = draw.pick(unread) if unread and draw.chance(0.8) else draw.pick(self.results)
        kind = draw.random.random()
        if self.depth < 3 and kind < (0.3 if self.depth == 0 and not self.generator.large else 0.1):
            extra = [draw.pick(self.results)] if draw.chance(0.3) else []
            return self.call_model([result, *extra])
        if kind < 0.45:
            return self.call_again(result)
        if kind < 0.6:
            return self.call_merge(result)
        return self.call_new(result)

    def grow(self, count):
        """Adds this number of calls, then uses all inputs."""
        for _ in range(count):
            self.step()
        for result in self.results[:len(self.inputs)]:
            if result[0] not in self.read:
                self.call_new(result)

    def finish(self):
        count = self.draw.whole(1, 6 if self.depth == 0 else 4)
        if self.generator.large and self.depth == 0:
            count = self.draw.whole(250, 399)
        made = self.finish_sequential(count) if self.sequential else self.finish_functional(count)
        spec = {"name": made.name, "sequential": self.sequential,
                "inputs": [{"name": symbol.name, "shape": self.shape(symbol)} for symbol in self.inputs],
                "calls": self.calls, "outputs": [list(reference) for reference in self.outputs]}
        return self.generator.add({"model": spec}, made, None)

    def finish_sequential(self, count):
        made = self.generator.made
        for _ in range(count):
            result = self.results[-1]
            before = len(self.calls)
            if self.depth < 3 and self.draw.chance(0.15):
                self.call_model([result])
                if len(self.results) - len(self.inputs) > before + 1:  # has several results, which is not allowed here
                    del self.calls[before:], self.results[before + 1:]
                    self.members.pop(made[-1].name)
            else:
                self.call_new(result)
        if not self.calls:
            self.call_new(self.results[0])
        self.outputs = [self.results[-1][0]]
        return keras.Sequential([self.inputs[0], *(made[call["layer"]] for call in self.calls)], name=self.model_name)

    def finish_functional(self, count):
        self.grow(count)
        ends = self.ends()
        if self.draw.chance(0.2):
            ends.append(self.draw.pick(self.results[len(self.inputs):]))
        self.draw.random.shuffle(order := list(range(len(ends))))
        ends = [ends[i] for i in order]
        self.outputs = [result[0] for result in ends]
        inputs = self.inputs if len(self.inputs) > 1 else self.inputs[0]
        outputs = [result[1] for result in ends]
        return keras.Model(inputs, outputs if len(outputs) > 1 else outputs[0], name=self.model_name)


def leaves(model):
    """The model's layers without inputs, each once, including those of nested models."""
    found = {}
    for layer in model.layers:
        inner = leaves(layer) if isinstance(layer, keras.Model) else [layer]
        found.update((id(leaf), leaf) for leaf in inner if not isinstance(leaf, layers.InputLayer))
    return list(found.values())


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
        options["epsilon"] = draw.pick([1e-3, 1e-5])  # with 1e-7, rounding errors of a gradient may become a whole step
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
