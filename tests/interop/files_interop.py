"""Compares lockstep with Keras on files of whole models, in both directions.

Compares configurations and predictions, and checks that a file stays the same when it is opened and saved repeatedly.

usage: files_interop.py --driver FILES_DRIVER [CASE ...]
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import zipfile

import keras_backend

keras_backend.choose("numpy")

import keras
import layers_interop
import numpy as np
import operation_models
import safetensors.numpy
from custom_classes import Gain, Negated, Residual
from keras import layers
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

ROWS = 7
TOLERANCE = 1e-5  # of predictions, relative to the largest one if that exceeds 1
OF_BFLOAT16 = 2**-5  # tolerance for models that compute in bfloat16: a few roundings to 8 bits
TIMES = 10
UNKNOWN_SIZES = (12, 10, 8)  # of inputs along axes of unknown sizes, by axis
KERAS_LAYERS = pathlib.Path(__file__).parents[2] / "models/layers/keras_layers.h"
compared = set()  # the classes in the models whose predictions were compared


def sequential():
    """A Sequential model with a nested one and a layer that is not trainable."""
    inner = keras.Sequential([keras.Input((8,)), layers.Dense(6, activation="tanh"), layers.Dense(4)])
    model = keras.Sequential([keras.Input((5, 2)), layers.LSTM(6, return_sequences=True, recurrent_activation="hard_sigmoid"),
                              layers.GRU(8, reset_after=False, go_backwards=True),
                              layers.BatchNormalization(), inner])
    model.layers[2].trainable = False
    return model


def recurrent():
    """Layers and a model in layers, some of which are not trainable."""
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(5, activation="tanh"), layers.BatchNormalization(), layers.Dense(4)])
    inner.layers[0].trainable = False
    model = keras.Sequential([keras.Input((6, 4)), layers.TimeDistributed(layers.Dense(8, activation="tanh")),
                              layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="mul"),
                              layers.TimeDistributed(layers.BatchNormalization()), layers.TimeDistributed(inner),
                              layers.Bidirectional(layers.SimpleRNN(4, recurrent_dropout=0.5, kernel_regularizer="l2"))])
    model.layers[0].trainable = False
    return model


def nested():
    """A model with two inputs and two results that is called twice, with a layer whose name the outer model also
    uses."""
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    shared = layers.Dense(4, activation="selu", name="dense")
    inner = keras.Model([a, b], [layers.Add()([shared(a), shared(b)]), layers.Concatenate()([a, shared(b)])], name="inner")
    x, y = keras.Input((6,), name="x"), keras.Input((6,), name="y")
    first_sum, first_both = inner([x, y])
    second_sum, second_both = inner([y, x])
    joined = layers.Concatenate()([first_both, second_sum, second_both])
    result = layers.Dense(3, kernel_regularizer=keras.regularizers.L1L2(0.5, 0.25), name="dense")(joined)
    return keras.Model([x, y], [result, first_sum])


def regularized():
    """Options that differ from Keras' defaults."""
    pictures = keras.Input((9, 8, 2))
    x = layers.SeparableConv2D(4, 3, strides=2, padding="same", depth_multiplier=2, pointwise_regularizer="l2",
                               pointwise_initializer=keras.initializers.Orthogonal(2),
                               depthwise_constraint=keras.constraints.MinMaxNorm(0.5, 2, 0.25, axis=[0, 1]))(pictures)
    x = layers.LeakyReLU(negative_slope=0.1)(layers.LayerNormalization(epsilon=0.01)(x))
    x = layers.ZeroPadding2D(((0, 1), (2, 0)))(x)
    x = layers.AveragePooling2D((2, 3), strides=1, padding="same")(x)
    spread = keras.initializers.VarianceScaling(2, "fan_avg", "untruncated_normal")
    x = layers.Conv2D(3, 2, kernel_initializer=spread, bias_initializer=keras.initializers.Constant(0.5), activation="swish",
                      kernel_constraint="max_norm", bias_constraint="non_neg")(x)
    x = layers.ActivityRegularization(0.25, 0.125)(layers.BatchNormalization(
        beta_initializer=keras.initializers.Constant(0.25), gamma_initializer="random_uniform", beta_regularizer="l2",
        gamma_regularizer=keras.regularizers.L1L2(0.5, 0.25), moving_mean_initializer="ones",
        moving_variance_initializer=keras.initializers.Constant(2.0))(x))
    return keras.Model(pictures, layers.GlobalAveragePooling2D(keepdims=True)(x))


def borders():
    """Sequences with steps removed and added."""
    sequence = keras.Input((6, 5))
    x = layers.ZeroPadding1D((1, 3))(layers.Cropping1D((2, 1))(sequence))
    return keras.Model(sequence, layers.Dense(4)(layers.Flatten()(x)))


def formulas():
    """Layers that prepare images, and formulas, which Keras records as operations between the layers."""
    pictures = keras.Input((9, 8, 3))
    x = layers.Normalization()(layers.Rescaling([0.5, 2, -1], 0.25)(pictures))
    x = layers.Normalization(mean=[0.5, 0.25, -1], variance=[4, 0.5, 1])(layers.Cropping2D(((1, 0), (2, 1)))(x))
    x = layers.Dropout(0.5, noise_shape=(None, 1, 1, None))(1 - x)
    gate = layers.ReLU(6)(x + 3.0) * (1 / 6)
    x = layers.Activation("hard_silu")(x * gate / 2 - 0.5)
    return keras.Model(pictures, layers.Dense(3)(layers.Flatten()(-x)))


def operations_by_keras():
    """Keras' operations between the layers, with several results, keys and numbers."""
    ops = keras.ops
    sequence = keras.Input((6, 8))
    left, right = ops.split(layers.Dense(8, activation=layers.LeakyReLU(0.2))(sequence), 2, axis=-1)
    gate = ops.sigmoid(left) * ops.gelu(right, approximate=True) + ops.power(ops.abs(left), 2)
    gate = gate + ops.cumsum(ops.ones_like(left), axis=1)
    x = ops.concatenate([gate[:, 1:5:2, :], right[..., None][:, -2:, :, 0]], axis=1)
    scores = ops.softmax(ops.matmul(x, ops.transpose(x, (0, 2, 1))) / 2.0, axis=-1)
    x = ops.stack([ops.mean(scores, axis=1), ops.max(scores, axis=2), ops.sqrt(ops.sum(ops.square(scores), 1) + 1.0)], axis=1)
    x = ops.reshape(ops.expand_dims(ops.maximum(x, 0.1), -1), (-1, 12))
    return keras.Model(sequence, layers.Dense(3)(ops.squeeze(ops.clip(ops.log(x[:, None]), -3, 3), 1)))


def of_applications():
    """The layers that keras.applications defines for its own models."""
    vector = keras.Input((6,))
    x = LayerScale(0.5, 6)(layers.Dense(6)(vector))
    x = CustomScaleLayer(0.25)([vector, StochasticDepth(0.5)(x)])
    return keras.Model(vector, layers.Dense(3)(x))


def mixed_by_keras():
    """Layers of most kinds in bfloat16, and two in float32, one of which returns a result."""
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    pictures = keras.Input((10, 10, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(6, 3, padding="same")(pictures)))
    wide = layers.SeparableConv2D(6, 3, padding="same", activation="tanh", dtype="float32")(x)
    x = layers.Add()([x, wide, layers.DepthwiseConv2D(3, padding="same")(x)])
    x = layers.Concatenate()([layers.MaxPooling2D()(x), layers.AveragePooling2D(2)(x)])
    sequence = layers.Reshape((25, 12))(layers.Dropout(0.5)(x))
    x = layers.Concatenate()([layers.GRU(5)(sequence), layers.GlobalAveragePooling2D()(layers.LayerNormalization()(x))])
    logits = layers.Dense(4, dtype="float32")(layers.Dense(8, activation="selu")(x))
    model = keras.Model(pictures, [logits, layers.Dense(3, activation="softmax")(x)])
    keras.mixed_precision.set_global_policy("float32")
    return model


def attention_by_keras():
    """Calls of attention with arguments in order, by name and left out; a layer that is called twice."""
    x, y, marks = keras.Input((6, 8)), keras.Input((5, 8)), keras.Input((6, 5))
    mask = layers.ReLU()(marks)
    shared = layers.MultiHeadAttention(2, 3, output_shape=(2, 4), kernel_regularizer="l2")
    left = layers.Reshape((6, 8))(shared(x, value=y, key=y))
    right = layers.Reshape((6, 8))(shared(left, y, y, attention_mask=mask))
    groups = layers.GroupQueryAttention(5, 4, 2)(right, value=y, attention_mask=mask)
    return keras.Model([x, y, marks], layers.Dense(3)(layers.Flatten()(groups)))


def states_by_keras():
    """Calls with initial states in a list, alone and by position; a layer that is called twice; a model in the model
    whose results are states."""
    x = keras.Input((5, 3))
    encoder = keras.Model(x, layers.LSTM(4, return_state=True)(x)[1:], name="encoder")
    source, target = keras.Input((5, 3)), keras.Input((6, 3))
    h, c = encoder(source)
    decoder = layers.LSTM(4, return_sequences=True, return_state=True)
    first, *states = decoder(target, initial_state=[h, c])
    second = decoder(layers.Dense(3)(first), states)[0]
    last = layers.GRU(4, reset_after=False)(second, initial_state=states[0])
    return keras.Model([source, target], [layers.Dense(3)(last), states[1]])


def stateful_by_keras():
    """Layers of each class in batches of one size, of which a second one follows; a model of them in the model."""
    x = keras.Input(batch_shape=(ROWS, 5, 3))
    inner_x = keras.Input(batch_shape=(ROWS, None, 4))
    inner = keras.Model(inner_x, layers.GRU(3, stateful=True, reset_after=False)(inner_x), name="inner")
    y = layers.LSTM(4, return_sequences=True, stateful=True)(x)
    both = layers.Bidirectional(layers.SimpleRNN(3, stateful=True), merge_mode="sum")(y)
    masked = layers.GRU(3, stateful=True, return_state=True)(layers.Masking()(layers.ReLU()(x)))
    return keras.Model(x, layers.Dense(3)(layers.Concatenate()([inner(y), both, *masked])))


def masks_by_keras():
    """Masks that layers join, pass on and read."""
    ids, values = keras.Input((5,)), keras.Input((5, 3))
    words = layers.Embedding(9, 3, mask_zero=True)(layers.ReLU()(ids))
    kept = layers.Masking()(layers.ReLU()(values))
    by_feature, by_time = layers.Concatenate()([words, kept, values]), layers.Concatenate(axis=1)([words, values])
    attended = layers.MultiHeadAttention(2, 3)(layers.Add()([words, kept]), kept)
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True))(layers.Dropout(0.5)(by_feature))
    inner = keras.Sequential([keras.Input((5, 3)), layers.Dense(4), layers.LSTM(3)])
    both = layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode=None)(kept)
    letters = layers.Masking()(layers.Reshape((5, 3, 1))(layers.ReLU()(values)))
    word = keras.Input((3, 1))
    reader = keras.Model(word, layers.GRU(2)(layers.Masking(2.0)(layers.Dense(4)(word))))
    scored = layers.AdditiveAttention()([words, layers.Masking()(layers.ReLU()(values))])
    results = [layers.GRU(3)(x), layers.SimpleRNN(3)(attended), layers.GRU(3)(by_time), inner(words),
               layers.GlobalAveragePooling1D()(scored), layers.LSTM(3)(layers.Add()(both)),
               layers.Flatten()(layers.TimeDistributed(reader)(letters)),
               layers.GRU(3, zero_output_for_mask=True)(words), layers.LSTM(3, zero_output_for_mask=True, go_backwards=True)(words)]
    return keras.Model([ids, values], layers.Dense(3)(layers.Concatenate()(results)))


def masked_operations():
    """Operations on results with masks, which have no masks in Keras, and a mask that is computed."""
    ids, scores, kept = keras.Input((5,)), keras.Input((2, 5)), keras.Input((1, 5))
    words = layers.Embedding(9, 8, mask_zero=True)(ids)
    x = words * 1.7 + layers.Embedding(9, 8, mask_zero=True)(ids)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 3)(x, words))
    both = keras.ops.concatenate([words, -words], axis=-1)
    weights = layers.Softmax()(scores, kept > 3)
    sequence = keras.Input((None, 8))
    inner = keras.Model(sequence, layers.LSTM(3)(1 - sequence), name="inner")
    results = [layers.LSTM(4)(words * 1.7), layers.GlobalAveragePooling1D()(x), layers.GRU(3)(both), inner(words),
               layers.Flatten()(layers.Softmax()(weights, mask=kept))]
    return keras.Model([ids, scores, kept], [layers.Dense(3)(layers.Concatenate()(results)), weights])


def unknown_in_nested():
    """A model in a model in a model, of unknown sizes, that is called on inputs of two sizes."""
    pictures = keras.Input((None, None, 3))
    halved = layers.MaxPooling2D()(layers.Conv2D(4, 3, padding="same", activation="tanh")(pictures))
    innermost = keras.Model(pictures, halved, name="innermost")
    x = keras.Input((None, 8, 3))
    inner = keras.Model(x, layers.Conv2D(3, 3, padding="same")(innermost(x)), name="inner")
    words = keras.Input((None, 4))
    reader = keras.Model(words, layers.LSTM(3)(layers.Dense(4)(words)), name="reader")
    first, second, text = keras.Input((8, 8, 3)), keras.Input((4, 8, 3)), keras.Input((6, 4))
    results = [layers.GlobalAveragePooling2D()(inner(first)), layers.GlobalMaxPooling2D()(inner(second)),
               reader(text), reader(layers.MaxPooling1D()(text))]
    return keras.Model([first, second, text], layers.Dense(3)(layers.Concatenate()(results)))


def custom_by_keras():
    """Registered classes alone, in a nested model, in each other and in a layer of Keras; one computes in f32."""
    inner = keras.Sequential([keras.Input((4, 3)), Gain(0.5, trainable=False), Residual(layers.Dense(3, "tanh")), Negated()])
    x = keras.Input((4, 3))
    y = Residual(Gain(3.0), name="second")(inner(layers.TimeDistributed(Gain(2.0))(x)))
    z = layers.Flatten()(layers.Add()([y, Gain()(y)]))
    return keras.Model(x, layers.Dense(2)(Negated(autocast=False, dtype="mixed_bfloat16")(z)))


def unknown_sizes():
    """Inputs and results of unknown sizes."""
    pictures, words = keras.Input((None, None, 3)), keras.Input((None, 4))
    x = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", activation="relu")(pictures))
    x = layers.UpSampling2D(2)(layers.MaxPooling2D()(layers.Cropping2D(1)(x)))
    x = layers.GroupNormalization(2)(layers.Conv2DTranspose(4, 3, strides=2)(x))
    y = layers.EinsumDense("abc,cd->abd", (None, 6))(layers.Conv1D(5, 3, padding="causal")(words))
    y = layers.Bidirectional(layers.GRU(3, return_sequences=True))(layers.LayerNormalization()(y))
    ends = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.LSTM(3)(y)])
    return keras.Model([pictures, words], [layers.Dense(3)(ends), layers.ZeroPadding2D(1)(x), layers.Conv1DTranspose(2, 3)(y)])


def unused_and_passed_on():
    """Inputs that are unused or outputs, also of a model in the model; a model that starts at a result of another one."""
    a, b = keras.Input((6,), name="a"), keras.Input((4,), name="b")
    inner = keras.Model([a, b], [a, layers.Dense(3)(a)], name="inner")
    hidden = layers.Dense(5, activation="tanh")(a)
    upper = keras.Model(hidden, layers.Dense(6)(hidden), name="upper")
    x, y, z = keras.Input((6,), name="x"), keras.Input((5,), name="y"), keras.Input((3,), name="z")
    same, made = inner([upper(y), layers.Dense(4)(x)])
    return keras.Model([x, y, z], [made, x, layers.Add()([same, layers.Dense(6)(y)])])


def given_masks():
    """Calls that are given masks, by inputs, layers and operations, also where their inputs carry others; a model with a
    mask as input."""
    ids, key_ids, marks, key_marks = (keras.Input((size,)) for size in (6, 5, 6, 5))
    of_keys = keras.Input((5,), dtype="bool")
    ops = keras.ops
    words, keys = layers.Embedding(9, 4, mask_zero=True)(ids), layers.Embedding(9, 4)(key_ids)
    others = layers.Embedding(9, 4, mask_zero=True)(layers.ReLU()(marks - 3))
    large = ops.logical_and(ids != 0, marks > 3)
    sequence, mask = keras.Input((None, 4)), keras.Input((None,))
    reader = keras.Model([sequence, mask], layers.GRU(3)(layers.Dense(4)(sequence), mask=ops.not_equal(mask, 0)), name="reader")
    a = layers.LSTM(4, return_sequences=True)(words, mask=others._keras_mask)
    b = layers.GRU(4, return_sequences=True, zero_output_for_mask=True)(keys, mask=of_keys, initial_state=layers.LSTM(4)(a))
    c, *states = layers.LSTM(4, return_state=True)(a, initial_state=[layers.SimpleRNN(4)(b)] * 2, mask=large)
    d = layers.Bidirectional(layers.SimpleRNN(4), merge_mode="sum")(words, initial_state=states, mask=layers.ReLU()(marks - 2))
    attended = layers.AdditiveAttention()([words, keys], mask=[large, of_keys])
    results = [layers.Attention()([words, keys, b], mask=[None, of_keys]), attended,
               layers.MultiHeadAttention(2, 3)(words, b, value_mask=key_marks > 2),
               layers.MultiHeadAttention(2, 3)(others, keys, value_mask=of_keys, attention_mask=ops.expand_dims(key_marks > 1, 1)),
               layers.GroupQueryAttention(3, 4, 2)(words, keys, key=b, query_mask=large, value_mask=of_keys, use_causal_mask=True),
               layers.TimeDistributed(layers.Dense(3))(words, mask=large), layers.BatchNormalization()(words, mask=large)]
    ends = [c, d, reader([words, marks]), layers.GRU(3)(attended), layers.GlobalAveragePooling1D()(words, mask=large)]
    ends += [layers.Flatten()(result) for result in results]
    return keras.Model([ids, key_ids, marks, key_marks, of_keys], layers.Dense(3)(layers.Concatenate()(ends)))


def mask_of_query():
    ids, marks = keras.Input((5,)), keras.Input((5,))
    words = layers.Embedding(9, 3)(ids)
    return keras.Model([ids, marks], layers.MultiHeadAttention(2, 3, name="last")(words, words, query_mask=marks))


def mask_of_model():
    sequence, marks = keras.Input((5, 3)), keras.Input((5,))
    inner = keras.Model(sequence, layers.LSTM(2)(sequence), name="inner")
    return keras.Model([sequence, marks], inner(sequence, mask=marks))


def mask_in_order():
    sequence, marks = keras.Input((5, 3)), keras.Input((5,))
    return keras.Model([sequence, marks], layers.LSTM(2, name="last")(sequence, None, marks))


def mask_of_softmax():
    scores, kept = keras.Input((5, 3)), keras.Input((5, 1))
    return keras.Model([scores, kept], layers.Dense(2)(layers.Softmax()(scores, mask=kept)))


def causal_along_two_axes():
    x = keras.Input((4, 3, 2))
    return keras.Model(x, layers.MultiHeadAttention(2, 3, name="last")(x, x, use_causal_mask=True))


# Models of layers_interop.py whose layers no other model here has.
OF_LAYERS = ("images", "sequences", "steps", "products", "merges", "encodings", "pools", "adaptive_pools", "transposes", "channels",
             "activation_layers", "normalizations", "dropouts", "resized", "augmented", "all_activations", "wrapped",
             "preprocessing")

OF_IDS = {"shared", "gpt", "encodings", "encodings_by_keras", "masked_operations_by_keras", "given_masks", "given_masks_by_keras"}  # models whose inputs are ids below 9
# The models that lockstep makes, with the shapes of their inputs.
OURS = {"convolutions": [(8, 8, 3)], "shared": [(6,), (6,)], "images": [(16, 15, 4)], "sequences": [(54,)],
        "wrapped": [(6, 4)], "preprocessing": [(9, 8, 3)], "seq2seq": [(5, 3), (4, 2)], "stateful": [(5, 3)],
        "mixed": [(10, 10, 3)], "parts": [(4,), (4,)], "attention": [(6, 8), (5, 8), (6, 5)], "attention_options": [(6, 8), (4, 3, 8)],
        "encodings": [(5,), (5,), (1,)], "given_masks": [(6,), (5,), (6,), (5,)], "merges": [(5, 4, 6)], "pools": [(10, 4)],
        "activation_layers": [(6, 4)], "normalizations": [(5, 4, 6)],
        "transposes": [(3, 4, 3)], "channels": [(12, 4)], "dropouts": [(6, 5, 4)],
        "adaptive_pools": [(11, 7, 4)], "resized": [(9, 12, 3)],
        "augmented": [(6, 7, 3)], "all_activations": [(12,)], "operations": [(6, 8)], "gpt": [(12,)],
        "unet": [(8, 12, 3)], "vit": [(8, 12, 3)], "custom": [(4, 3)]}
THEIRS = {"sequential": sequential, "recurrent": recurrent, "nested": nested, "regularized": regularized,
          "borders": borders, "formulas": formulas, "operations_by_keras": operations_by_keras,
          "all_operations_by_keras": operation_models.all_operations,
          "of_applications": of_applications,
          "mixed_by_keras": mixed_by_keras, "attention_by_keras": attention_by_keras,
          "attention_options_by_keras": layers_interop.attention_options,
          "states_by_keras": states_by_keras, "stateful_by_keras": stateful_by_keras, "masks_by_keras": masks_by_keras,
          "masked_operations_by_keras": masked_operations, "given_masks_by_keras": given_masks,
          "unknown_sizes": unknown_sizes, "unknown_in_nested": unknown_in_nested, "unused_and_passed_on": unused_and_passed_on, "custom_by_keras": custom_by_keras,
          **{f"{name}_by_keras": layers_interop.MODELS[name] for name in OF_LAYERS}}
# Models that lockstep refuses, and what the error says.
REFUSED = {"mask_of_query": (mask_of_query, "'last' is called with a query_mask that is not the mask of its query, which Keras ignores"),
           "mask_of_model": (mask_of_model, "'inner' is called with a mask that is not the mask of its input: give it to the layers inside"),
           "mask_in_order": (mask_in_order, "'last' is called with a mask in order: in Keras, give it by name"),
           "mask_of_softmax": (mask_of_softmax, "the model's output would have the mask that a Softmax is given by name"),
           "causal_along_two_axes": (causal_along_two_axes, "'last': MultiHeadAttention with use_causal_mask needs one attention axis, got 2")}
ALL = [*OURS, *THEIRS, *REFUSED]
# Keras itself does not find these layers, lists of axes, score modes and operations again in .h5 files.
ONLY_KERAS_3 = {"attention_options", "attention_options_by_keras", "of_applications", "normalizations", "preprocessing", "operations", "gpt", "vit", "operations_by_keras",
                "all_operations_by_keras", "masked_operations_by_keras", "given_masks", "given_masks_by_keras",
                *(f"{name}_by_keras" for name in OF_LAYERS)}


class Files:
    """A case with a folder for its files."""

    def __init__(self, driver, case, folder):
        self.driver, self.case, self.folder = driver, case, pathlib.Path(folder)
        self.random = np.random.default_rng(1)
        self.rows = 2 * ROWS if case.startswith("stateful") else ROWS
        self.tolerance = OF_BFLOAT16 if case.startswith("mixed") else TOLERANCE

    def lockstep(self, *words):
        return subprocess.run([self.driver, *words], check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    def write_inputs(self, shapes):
        draw = (lambda shape: self.random.integers(0, 9, shape)) if self.case in OF_IDS else self.random.standard_normal
        known = [[size or unknown for size, unknown in zip(shape, UNKNOWN_SIZES)] for shape in shapes]
        self.inputs = [draw((self.rows, *shape)).astype("<f4") for shape in known]
        for number, values in enumerate(self.inputs):
            values.tofile(self.folder / f"input_{number}")

    def check_predictions(self, model, what):
        compared.update(re.findall(r'"class_name": "(\w+)"', json.dumps(model.get_config(), default=str)))
        theirs = model.predict(self.inputs if len(self.inputs) > 1 else self.inputs[0], batch_size=ROWS, verbose=0)
        for number, expected in enumerate(theirs if isinstance(theirs, (list, tuple)) else [theirs]):
            expected = np.asarray(expected, "f4")
            ours = np.fromfile(self.folder / f"output_{number}", "<f4").reshape(expected.shape)
            difference = np.abs(ours - expected).max()
            print(f"{what}, output {number}: largest difference {difference:.1e} of {np.abs(expected).max():.1e}")
            assert np.ptp(expected, axis=0).max() > max(1e-3, 3 * self.tolerance), "predictions hardly differ: they prove nothing"
            assert difference <= self.tolerance * max(1, np.abs(expected).max()), difference

    def check_stays(self, path):
        size = path.stat().st_size
        first = self.lockstep("again", path, "1")
        flat_size = path.stat().st_size
        assert self.lockstep("again", path, str(TIMES)) == first, "layers have other names after saving again"
        assert path.stat().st_size == flat_size, f"{size} bytes, {path.stat().st_size} after {TIMES} times"


def check_layers(model, opened):
    """lockstep's configuration of a layer must be Keras', except for the seeds of initializers."""
    assert opened.name == model["config"]["name"]
    written = [layer for layer in model["config"]["layers"] if layer["class_name"] != "InputLayer"
               and not (layer["module"] or "").startswith("keras.src.ops")]
    theirs = [layer.name for layer in opened.layers if not isinstance(layer, layers.InputLayer)]
    assert [layer["name"] for layer in written] == theirs, "the layers stand in another order than Keras'"
    for layer in written:
        if "layers" in layer["config"]:
            check_layers(layer, opened.get_layer(layer["name"]))
            continue
        their = json.loads(json.dumps(keras.saving.serialize_keras_object(opened.get_layer(layer["name"]))))
        for name in ("class_name", "registered_name"):
            assert layer[name] == their[name], f"lockstep has {layer}, Keras {their}"
        options = dict(layer["config"])
        if "layers" in options.get("layer", {}).get("config", {}):
            check_layers(options.pop("layer"), opened.get_layer(layer["name"]).layer)
        check_options(options, their["config"])


def check_options(options, theirs):
    for key, value in options.items():
        if key in ("layer", "backward_layer", "inner"):
            for name in ("class_name", "registered_name"):
                assert value[name] == theirs[key][name], f"{options['name']}: {key} is {value}, Keras has {theirs[key]}"
            check_options(value["config"], theirs[key]["config"])
        elif key.endswith("_initializer"):
            same = value["class_name"] == theirs[key]["class_name"] and value["config"].items() <= theirs[key]["config"].items()
            assert same, f"{options['name']}: {key} is {value}, Keras has {theirs[key]}"
        else:
            their = theirs.get(key)  # Dense leaves out an activity_regularizer that is None
            same = their in (value, [value])  # LayerNormalization keeps its axis as a list
            same |= key == "axis" and value is None and their == []  # Normalization keeps None as a list
            same |= key == "dtype" and their == value["config"]["name"]  # as SpatialDropout keeps it
            assert same, f"{options['name']}: {key} is {value}, Keras has {their}"


def check_config(path):
    check_layers(json.loads(zipfile.ZipFile(path).read("config.json")), keras.saving.load_model(path))


def configs_of(kind, model):
    """The options of each layer that has any of this kind: constraints or initializers."""
    options = [(layer.name, *option) for layer in model.layers for option in layer.get_config().items()]
    return [json.loads(json.dumps(option)) for option in options if kind in option[1] and option[2] is not None]


def check_ours(files, path):
    files.write_inputs(OURS[files.case])
    files.lockstep("save", files.case, path, files.folder)
    files.check_predictions(keras.saving.load_model(path), "saved by lockstep, opened by Keras")
    if path.suffix == ".keras":
        check_config(path)
    files.check_stays(path)
    files.check_predictions(keras.saving.load_model(path), "saved again and again")


def check_theirs(files, path):
    model = THEIRS[files.case]()
    for variable in model.variables:
        variable.assign(np.asarray(variable.value) + files.random.uniform(0, 0.25, variable.shape))
    for layer in model.layers:
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()  # it computes with copies of its weights
    files.write_inputs([input.shape[1:] for input in model.inputs])
    model.save(path)
    files.lockstep("open", path, files.folder)
    files.check_predictions(model, "saved by Keras, opened by lockstep")
    files.check_stays(path)
    opened = keras.saving.load_model(path)
    files.check_predictions(opened, "saved by Keras, saved again by lockstep, opened by Keras")
    # Layers that were made without autocast compute in float32 under any policy.
    policies = {layer.name: layer.dtype_policy.name if layer.get_config().get("autocast", True) else "float32"
                for layer in model.layers}
    for layer in opened.layers:  # layers of nested models are float32
        same = layer.dtype_policy.name == policies.get(layer.name, "float32")
        assert same or isinstance(layer, layers.InputLayer), layer.name
    trained = [sum(np.prod(v.shape) for v in which.trainable_variables) for which in (model, opened)]
    assert trained[0] == trained[1], f"{trained[0]} trainable parameters became {trained[1]}"
    for kind in ("constraint", "initializer"):
        before, after = configs_of(kind, model), configs_of(kind, opened)
        assert before == after, f"{before} became {after}"
    penalties = [sum(float(loss) for loss in which.losses) for which in (model, opened)]
    assert np.isclose(*penalties, rtol=1e-5), f"regularization losses of {penalties[0]} became {penalties[1]}"


def check_refused(files, path):
    make, message = REFUSED[files.case]
    make().save(path)
    opened = subprocess.run([files.driver, "open", path, files.folder], stderr=subprocess.PIPE, text=True)
    assert opened.returncode != 0 and message in opened.stderr, opened.stderr


def check_safetensors(files, path):
    """Weights written by the safetensors library must be those of the model that Keras then opens, and vice versa."""
    weights = path.with_suffix(".safetensors")
    files.write_inputs(OURS[files.case])
    files.lockstep("save", files.case, path, files.folder)
    values = {variable.path: np.asarray(variable.value) for variable in keras.saving.load_model(path).weights}
    values = {name: value + files.random.uniform(0, 0.25, value.shape).astype("f4") for name, value in values.items()}
    safetensors.numpy.save_file(values, weights)
    files.lockstep("weights", files.case, weights, path)
    written = safetensors.numpy.load_file(weights)
    opened = {variable.path: np.asarray(variable.value) for variable in keras.saving.load_model(path).weights}
    assert values.keys() == written.keys() == opened.keys()
    for name, value in values.items():
        assert np.array_equal(value, written[name]) and np.array_equal(value, opened[name]), name


def parts():
    """The Keras model with that name."""
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="tanh")], name="inner")
    a = keras.Input((4,), name="a")
    middle = keras.Model(a, layers.Dense(2)(inner(a)), name="middle")
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    left, right = middle(layers.Dense(4, name="front")(x)), middle(y)
    return keras.Model([x, y], [layers.Add(name="sum")([left, right]), left, right], name="outer")


def check_parts(files, path):
    """Weights that Keras saves for nested models must be those of the model here, and vice versa."""
    weights = path.with_name("parts.weights.h5")
    model = parts()
    for variable in model.variables:
        variable.assign(np.asarray(variable.value) + files.random.uniform(0, 0.25, variable.shape))
    model.save_weights(weights)
    files.lockstep("weights", files.case, weights, path)
    expected = model.predict(files.inputs, verbose=0)
    for variable in model.variables:
        variable.assign(np.zeros(variable.shape))
    model.load_weights(weights)
    for opened in (model, keras.saving.load_model(path)):
        for ours, theirs in zip(opened.predict(files.inputs, verbose=0), expected, strict=True):
            assert np.ptp(theirs) > 0.1 and np.abs(ours - theirs).max() <= TOLERANCE


def check_all_operations(files):
    """The model must have each operation that lockstep knows."""
    missing = set(files.lockstep("operations")) - operation_models.classes(operation_models.all_operations())
    assert missing == operation_models.UNTESTED, f"no operation of {missing - operation_models.UNTESTED} in operation_models.py"


def check(driver, case, suffix):
    print(f"== {case}{suffix}", flush=True)
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        files = Files(driver, case, folder)
        path = files.folder / f"model{suffix}"
        check_direction = check_ours if case in OURS else check_refused if case in REFUSED else check_theirs
        check_direction(files, path)
        if case == "convolutions":
            check_safetensors(files, path)
        if case == "parts":
            check_parts(files, path)
        if case == "all_operations_by_keras":
            check_all_operations(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(ALL)}; all if none is named")
    arguments = parser.parse_args()
    for case in arguments.cases or ALL:
        for suffix in (".keras",) if case in ONLY_KERAS_3 else (".keras", ".h5"):
            check(arguments.driver, case, suffix)
    missing = set(re.findall(r'keras_class<.*>\("(\w+)"\)', KERAS_LAYERS.read_text())) - compared
    assert arguments.cases or not missing, f"no model has a layer of {missing}"


if __name__ == "__main__":
    main()
