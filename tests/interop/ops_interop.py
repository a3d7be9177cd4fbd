"""Compares the results and gradients of lockstep's ops with those of Keras on JAX.

usage: ops_interop.py --driver OPS_DRIVER
"""

import argparse
import functools
import pathlib
import subprocess
import tempfile

import driver_output
import keras_backend

keras_backend.choose("jax")

import jax
import numpy as np
from keras import activations, layers, ops

RANDOM = np.random.default_rng(1)
AXES = {"axis": (0, -1), "keepdims": True}
EPSILON = 1e-3
TOLERANCE = 2e-6
GRADIENT_TOLERANCE = 5e-6  # of the largest element, for the rounding errors of Keras' gradients


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def indices(most, *shape, low=0):
    return RANDOM.integers(low, most, shape)


def booleans(*shape):
    return RANDOM.random(shape) < 0.5


def sparsemax(x):
    """Along axis 1. The shift after which the positive elements have the sum 1, from the sums of the largest elements.
    Keras 3.15 has another result."""
    falling = ops.flip(ops.sort(x, 1), 1)
    shifts = (ops.cumsum(falling, 1) - 1) / ops.reshape(ops.arange(1, x.shape[1] + 1, dtype="float32"), (-1, 1))
    return ops.relu(x - ops.max(shifts, 1, keepdims=True))


def true_elements(op, x):
    """Their indices, whose number JAX must know when it traces the call."""
    with jax.ensure_compile_time_eval():
        return op(x)


def unary_ops(driver):
    """The driver's element-wise ops of one tensor: the name in keras.ops, and the bounds of the elements."""
    lines = subprocess.run([driver, "--unary"], check=True, capture_output=True, text=True).stdout.splitlines()
    return [(name, float(low), float(high)) for name, low, high in map(str.split, lines)]


def elementwise(unary):
    a, b, positive = real(2, 3, 4), real(3, 1), real(2, 3, 4, low=0.1, high=3)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "mod", "arctan2",
                 "logaddexp"):  # fmt: skip
        yield name, (a, b), getattr(ops, name)
    yield "power", (positive, b), ops.power
    yield "squared_difference", (a, b), lambda x, y: (x - y) ** 2
    yield "add_n", (a, positive, a), lambda *x: sum(x)
    for name, low, high in unary:
        yield name, (real(2, 3, 4, low=low, high=high),), getattr(ops, name)
    yield "round", (np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.7, -0.2], np.float32),), ops.round
    yield "round_decimals", (a,), lambda x: ops.round(x, 2)
    yield "round_tens", (real(2, 3, 4, low=-50, high=50),), lambda x: ops.round(x, -1)
    yield "clip", (a,), lambda x: ops.clip(x, -0.5, 1.25)
    yield "cast", (a,), lambda x: ops.cast(x, "int32")


def with_numbers():
    x = real(2, 3, 4, low=0.1, high=3)
    for name in ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"):
        yield f"{name}_number", (x,), lambda x, name=name: getattr(ops, name)(x, 1.5)
        yield f"number_{name}", (x,), lambda x, name=name: getattr(ops, name)(1.5, x)
    ties = indices(7, 2, 3, 4).astype(np.float32) / 2
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        yield f"{name}_number", (ties,), lambda x, name=name: getattr(ops, name)(x, 1.5)
        yield f"number_{name}", (ties,), lambda x, name=name: getattr(ops, name)(1.5, x)
    yield "where_number", (booleans(3, 1), x), lambda condition, x: ops.where(condition, x, 1.5)
    yield "number_where", (booleans(3, 1), x), lambda condition, x: ops.where(condition, 1.5, x)


def of_integers():
    x = indices(6, 2, 3, 4, low=-5)
    for name in ("add", "subtract", "multiply", "maximum", "minimum"):
        yield f"{name}_integers", (x, indices(6, 3, 1, low=-5)), getattr(ops, name)
    for name in ("negative", "abs", "sign", "square"):
        yield f"{name}_integers", (x,), getattr(ops, name)
    yield "clip_integers", (x,), lambda x: ops.clip(x, -2, 3)
    for name in ("sum", "prod", "max", "min", "any", "all"):
        yield f"{name}_integers", (x,), lambda x, name=name: getattr(ops, name)(x, **AXES)
    yield "sum_booleans", (booleans(3, 4, 2),), lambda x: ops.sum(x, **AXES)
    for name in ("cumsum", "cumprod", "sort", "argmax"):
        yield f"{name}_integers", (x,), lambda x, name=name: getattr(ops, name)(x, 1)


def of_u8_and_booleans():
    """Of u8, which wraps around, and of bool, without the ops whose results are of a dtype that lockstep lacks."""
    x = RANDOM.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    y = RANDOM.integers(1, 64, (3, 1)).astype(np.uint8)  # JAX reads six bits of exponents
    for kind, a, b in (("u8", x, y), ("bool", booleans(2, 3, 4), booleans(3, 1))):
        for name in ("add", "multiply", "maximum", "minimum", "power"):
            yield f"{name}_{kind}", (a, b), getattr(ops, name)
        for name in ("abs", "square"):
            yield f"{name}_{kind}", (a,), getattr(ops, name)
        for name in ("max", "min"):
            yield f"{name}_{kind}", (a,), lambda x, name=name: getattr(ops, name)(x, **AXES)
        for name in ("cumsum", "cumprod"):
            yield f"{name}_{kind}", (a,), lambda x, name=name: getattr(ops, name)(x, 1)
        yield f"diff_{kind}", (a,), lambda x: ops.diff(x, 1, 1)
    for name in ("subtract", "floor_divide", "mod"):
        yield f"{name}_u8", (x, y), getattr(ops, name)
    for name in ("negative", "sign"):
        yield f"{name}_u8", (x,), getattr(ops, name)
    yield "clip_u8", (x,), lambda x: ops.clip(x, 3, 150)
    yield "clip_bool", (booleans(4, 3),), lambda x: ops.clip(x, -1, 1)
    for name in ("prod", "trace"):
        yield f"{name}_bool", (booleans(2, 3),), getattr(ops, name)


def comparisons():
    a, b = indices(3, 2, 3, 4).astype(np.float32), indices(3, 4).astype(np.float32)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        yield name, (a, b), getattr(ops, name)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, (booleans(4, 3), booleans(3)), getattr(ops, name)
    yield "logical_not", (booleans(4, 3),), ops.logical_not
    yield "where_rows", (booleans(4, 3),), lambda x: true_elements(ops.where, x)[0]
    yield "where_columns", (indices(2, 4, 3),), lambda x: true_elements(ops.nonzero, x)[1]
    yield "where", (booleans(3, 1), a, b), ops.where
    odd = np.array([1, 2, 0.4, np.nan, np.inf, -np.inf, np.inf, 3], np.float32)
    other = np.array([1.6, 2.8, 0, np.nan, np.inf, np.inf, 3, -np.inf], np.float32)
    yield "isclose", (odd, other), lambda x, y: ops.isclose(x, y, 0.1, 0.5, True)
    yield "allclose", (a, real(2, 3, 4)), lambda x, y: ops.allclose(x, y, 0, 5)
    for name in ("isnan", "isinf", "isfinite"):
        yield name, (np.array([0, -1, np.nan, np.inf, -np.inf], np.float32),), getattr(ops, name)


def of_activations():
    x = real(3, 4, 5, low=-6, high=6)
    options = {"leaky_relu": {"negative_slope": 0.3}, "elu": {"alpha": 1.5}, "celu": {"alpha": 1.5},
               "squareplus": {"b": 0.5}, "gelu": {"approximate": False},
               "hard_shrink": {"threshold": 0.75}, "soft_shrink": {"threshold": 0.75},
               "threshold": {"threshold": 0.5, "default_value": -1}, "glu": {"axis": 1}}  # fmt: skip
    for name in ("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "sigmoid", "hard_sigmoid", "silu",
                 "hard_silu", "mish", "softplus", "log_sigmoid", "squareplus", "sparse_plus", "softsign", "tanh",
                 "hard_tanh", "tanh_shrink", "hard_shrink", "soft_shrink", "sparse_sigmoid", "threshold", "glu"):  # fmt: skip
        yield name, (x,), lambda x, name=name: getattr(activations, name)(x, **options.get(name, {}))
    yield "relu_with_options", (x,), lambda x: activations.relu(x, 0.25, 3, 1)
    yield "sparsemax", (x,), sparsemax
    yield "gelu_approximate", (x,), lambda x: activations.gelu(x, approximate=True)
    yield "softmax", (x,), lambda x: ops.softmax(x, axis=(0, 2))
    yield "log_softmax", (x,), lambda x: ops.log_softmax(x, axis=1)


def creation():
    x = real(2, 4, 5)
    yield "arange", (), lambda: ops.arange(1, 7, 0.75)
    yield "linspace", (), lambda: ops.linspace(-1, 2, 7)
    yield "linspace_without_end", (), lambda: ops.linspace(-1, 2, 8, endpoint=False)
    yield "full_like", (x,), lambda x: ops.full_like(x, 2.5)
    yield "zeros_like", (indices(9, 3),), ops.zeros_like
    yield "ones_like", (booleans(3),), ops.ones_like
    yield "eye", (), lambda: ops.eye(3, 5, 1)
    yield "tril", (x,), lambda x: ops.tril(x, -1)
    yield "triu", (x,), lambda x: ops.triu(x, 1)
    yield "one_hot", (indices(4, 2, 3, low=-1),), lambda x: ops.one_hot(x, 4, axis=1)


def shapes():
    x = real(2, 3, 4)
    width = ((0, 1), (2, 1), (1, 3))
    yield "reshape", (x,), lambda x: ops.reshape(x, (4, 6))
    yield "concatenate", (x, real(2, 1, 4)), lambda *x: ops.concatenate(x, 1)
    yield "split", (x,), lambda x: ops.split(x, 2, -1)[1]
    yield "transpose", (x,), lambda x: ops.transpose(x, (2, 0, 1))
    yield "expand_dims", (x,), lambda x: ops.expand_dims(x, -2)
    yield "squeeze", (real(3, 1, 4),), lambda x: ops.squeeze(x, 1)
    yield "stack", (x, real(2, 3, 4)), lambda *x: ops.stack(x, -1)
    yield "unstack", (x,), lambda x: ops.unstack(x, axis=1)[2]
    yield "broadcast_to", (real(3, 1),), lambda x: ops.broadcast_to(x, (5, 2, 3, 4))
    yield "tile", (x,), lambda x: ops.tile(x, (2, 1, 3))
    yield "repeat", (x,), lambda x: ops.repeat(x, 3, 1)
    yield "repeat_each", (x,), lambda x: ops.repeat(x, np.array([2, 0, 3]), 1)
    yield "repeat_of_all", (x,), lambda x: ops.repeat(x, 3)
    yield "flip", (x,), lambda x: ops.flip(x, (0, -1))
    yield "roll", (x,), lambda x: ops.roll(x, -5, 2)
    yield "moveaxis", (x,), lambda x: ops.moveaxis(x, 0, -1)
    yield "swapaxes", (x,), lambda x: ops.swapaxes(x, 1, -1)
    yield "pad_constant", (x,), lambda x: ops.pad(x, width, constant_values=0.5)
    yield "pad_reflect", (x,), lambda x: ops.pad(x, width, "reflect")
    yield "pad_symmetric", (x,), lambda x: ops.pad(x, width, "symmetric")
    yield "pad_edge", (x,), lambda x: jax.numpy.pad(x, width, "edge")  # keras.ops lacks this mode
    yield "zero_pad2d", (real(2, 3, 4, 2),), lambda x: ops.pad(x, ((0, 0), (1, 0), (2, 3), (0, 0)))
    yield "diagonal", (x,), lambda x: ops.diagonal(x, -1, 0, 2)
    yield "trace", (x,), lambda x: ops.trace(x, 1)
    yield "diag", (real(3),), lambda x: ops.diag(x, -2)
    yield "meshgrid", (real(2), real(3), real(4)), lambda *x: ops.meshgrid(*x)[0]
    yield "slice_update", (x, real(2, 2, 1)), lambda x, updates: ops.slice_update(x, (0, 1, 2), updates)
    yield "depth_to_space", (real(2, 3, 2, 8),), lambda x: ops.depth_to_space(x, 2)
    yield "space_to_depth", (real(2, 4, 6, 3),), lambda x: ops.space_to_depth(x, 2)
    yield "slice", (x,), lambda x: ops.slice(x, (0, 1, 0), (2, 2, 4))
    yield "flatten", (x,), lambda x: ops.reshape(x, (2, 12))
    yield "stop_gradient", (x,), lambda x: ops.stop_gradient(x)
    yield "dense_copy", (x,), ops.copy


def reductions():
    x = real(3, 4, 5)
    for name in ("sum", "mean", "max", "min", "prod", "var", "std", "norm", "logsumexp"):
        yield name, (x,), lambda x, name=name: getattr(ops, name)(x, **AXES)
        yield f"{name}_of_all", (x,), lambda x, name=name: getattr(ops, name)(x)
    for order in (1, 3, np.inf):
        yield f"norm_of_order_{order}", (x,), lambda x, order=order: ops.norm(x, order, -1)
    yield "norm_of_matrices", (x,), lambda x: ops.norm(x, -1, (0, 2))
    for order in (2, -2, "nuc"):
        yield f"norm_of_matrices_{order}", (x,), lambda x, order=order: ops.norm(x, order, (0, 2), keepdims=True)
    yield "svd", (x,), lambda x: ops.svd(x, compute_uv=False)
    yield "svd_product", (x,), lambda x: ops.matmul(*ops.svd(x, full_matrices=False)[::2])
    for name in ("any", "all"):
        yield name, (booleans(3, 4, 2),), lambda x, name=name: getattr(ops, name)(x, **AXES)
    ties = indices(3, 3, 4, 5).astype(np.float32)
    yield "count_nonzero", (ties,), lambda x: ops.count_nonzero(x, (0, -1))
    yield "average", (x, real(3, 4, 5, low=0.5)), lambda x, weights: ops.average(x, weights=weights)
    yield "average_of_axis", (x, real(4, low=0.5)), lambda x, weights: ops.average(x, 1, weights)
    yield "diff", (x,), lambda x: ops.diff(x, 2, 1)
    yield "median", (x,), ops.median
    yield "quantile", (x,), lambda x: ops.quantile(x, 0.3, **AXES)
    yield "argmax", (ties,), lambda x: ops.argmax(x, 1)
    yield "argmax_of_all", (ties,), ops.argmax
    yield "argmin", (ties,), lambda x: ops.argmin(x, -1, keepdims=True)
    yield "argmin_of_all", (ties,), lambda x: ops.argmin(x, keepdims=True)
    yield "cumsum", (x,), lambda x: ops.cumsum(x, 1)
    yield "cumsum_exclusive", (x,), lambda x: ops.cumsum(x, 1) - x
    yield "cumsum_reverse", (x,), lambda x: ops.flip(ops.cumsum(ops.flip(x, 1), 1), 1)
    yield "cumprod", (x,), lambda x: ops.cumprod(x, -1)
    yield "cumsum_of_all", (x,), ops.cumsum
    yield "cumprod_of_all", (x,), ops.cumprod
    yield "sort", (x,), lambda x: ops.sort(x, 1)
    yield "sort_descending", (x,), lambda x: ops.flip(ops.sort(x, 1), 1)
    yield "argsort", (x,), ops.argsort
    yield "argsort_descending", (x,), lambda x: ops.flip(ops.argsort(x), -1)
    yield "top_k_values", (x,), lambda x: ops.top_k(x, 3)[0]
    yield "top_k_indices", (x,), lambda x: ops.top_k(x, 3)[1]


def indexing():
    x = real(3, 4, 5)
    yield "take", (x, indices(4, 2, 3, low=-4)), lambda x, i: ops.take(x, i, 1)
    yield "take_of_all", (x, indices(60, 2, 3, low=-60)), ops.take
    yield "take_along_axis", (x, indices(4, 3, 2, 5)), lambda x, i: ops.take_along_axis(x, i, 1)
    yield "embedding_lookup", (real(6, 3), indices(6, 2, 4)), lambda table, i: ops.take(table, i, 0)
    yield "scatter", (indices(4, 5, 1), real(5, 3)), lambda i, values: ops.scatter(i, values, (4, 3))
    places = np.array([[2, 1], [0, 3]])
    yield "scatter_update", (x, places, real(2, 5)), ops.scatter_update
    yield "segment_sum", (real(7, 2), np.sort(indices(3, 7))), lambda x, ids: ops.segment_sum(x, ids, 4)


def products():
    yield "matmul", (real(2, 1, 3, 4), real(5, 4, 6)), ops.matmul
    yield "dense", (real(2, 3, 4), real(4, 5), real(5)), lambda x, kernel, bias: ops.tanh(ops.matmul(x, kernel) + bias)
    yield "dot", (real(2, 3, 4), real(5, 4, 6)), ops.dot
    yield "outer", (real(2, 3), real(4)), ops.outer
    yield "tensordot", (real(2, 3, 4), real(4, 2, 5)), lambda a, b: ops.tensordot(a, b, ((2, 0), (0, 1)))
    yield "einsum_of_three", (real(2, 2, 3), real(3, 4), real(4, 2)), lambda *x: ops.einsum("aab,bc,ca->ac", *x)
    yield "einsum", (real(2, 3, 5, 4), real(2, 4, 6)), lambda a, b: ops.einsum("b...i,bij->...bj", a, b)
    drawn = {"integers": lambda *shape: indices(9, *shape, low=-9), "bool": booleans,
             "u8": lambda *shape: RANDOM.integers(0, 256, shape).astype(np.uint8)}  # fmt: skip
    for kind, draw in drawn.items():
        yield f"matmul_{kind}", (draw(2, 1, 3, 4), draw(5, 4, 6)), ops.matmul
        yield f"dot_{kind}", (draw(2, 3, 4), draw(4)), ops.dot
        yield f"outer_{kind}", (draw(2, 3), draw(4)), ops.outer
        yield f"tensordot_{kind}", (draw(2, 3, 4), draw(4, 2, 5)), lambda a, b: ops.tensordot(a, b, ((2, 0), (0, 1)))
        yield f"einsum_{kind}", (draw(3, 4, 5), draw(4, 6, 2)), lambda a, b: ops.einsum("abc,bde->ad", a, b)
    attend = ops.dot_product_attention
    q, k, v = real(2, 5, 3, 4), real(2, 5, 3, 4), real(2, 5, 3, 4)
    yield "attention", (q, k, v), attend
    yield "attention_causal", (q, k, v), lambda q, k, v: attend(q, k, v, scale=0.4, is_causal=True)
    yield "attention_masked", (q, k, v, booleans(2, 1, 5, 5)), lambda q, k, v, mask: attend(q, k, v, mask=mask)
    yield "attention_biased", (q, k, v, booleans(2, 1, 5, 5), real(3, 5, 5)), lambda q, k, v, mask, bias: (
        attend(q, k, v, bias[None], mask, is_causal=True))  # fmt: skip
    yield "attention_grouped", (real(2, 5, 6, 4), k, v), lambda q, k, v: attend(q, ops.repeat(k, 2, 2),
                                                                                ops.repeat(v, 2, 2))  # fmt: skip


def windows():
    """Convolutions and pooling."""
    steps, x, bias = real(2, 9, 4), real(2, 7, 8, 4), real(6)
    yield "conv1d", (steps, real(4, 2, 6), bias), lambda x, k, b: ops.conv(x, k, 2, "same") + b
    yield "conv1d_causal", (steps, real(3, 4, 6), bias), lambda x, k, b: b + ops.conv(
        ops.pad(x, ((0, 0), (4, 0), (0, 0))), k, 1, "valid", dilation_rate=2)  # fmt: skip
    yield "conv2d", (x, real(3, 2, 2, 6), bias), lambda x, k, b: ops.conv(x, k, (2, 1), "valid") + b
    yield "conv2d_same", (x, real(3, 2, 4, 6), bias), lambda x, k, b: ops.relu(
        ops.conv(x, k, 1, "same", dilation_rate=(2, 3)) + b)  # fmt: skip
    yield "depthwise_conv2d", (x, real(3, 2, 4, 2), real(8)), lambda x, k, b: ops.depthwise_conv(x, k, 2, "same") + b
    transposed, kernel = ops.conv_transpose, real(3, 2, 6, 4)
    yield "conv1d_transpose", (steps, real(4, 6, 4), bias), lambda x, k, b: transposed(x, k, 3, "same", 1) + b
    yield "conv2d_transpose", (x, kernel, bias), lambda x, k, b: transposed(x, k, (2, 3), "valid") + b
    yield "conv2d_transpose_same", (x, kernel, bias), lambda x, k, b: transposed(x, k, 2, "same", 1) + b
    yield "conv2d_transpose_dilated", (x, kernel, bias), lambda x, k, b: b + transposed(
        x, k, 1, "same", dilation_rate=(2, 3))  # fmt: skip
    for padding in ("valid", "same"):
        for name, pool in (("max", ops.max_pool), ("average", ops.average_pool)):
            yield f"{name}_pool2d_{padding}", (x,), lambda x, pool=pool, padding=padding: pool(x, (3, 2), (2, 1), padding)


def batch_norm(x, gamma, beta):
    mean, variance = ops.moments(x, (0, 1))
    return ops.batch_normalization(x, mean, variance, -1, beta, gamma, EPSILON)


def group_norm(x, gamma, beta):
    """Of two groups."""
    grouped = ops.reshape(x, (4, 3, 2, 3))
    mean, variance = ops.moments(grouped, (1, 3), keepdims=True)
    return ops.reshape((grouped - mean) / ops.sqrt(variance + EPSILON), x.shape) * gamma + beta


def normalizations():
    x, gamma, beta, mean, variance = real(4, 3, 6), real(6), real(6), real(6), real(6, low=0.1)
    yield "batch_norm", (x, gamma, beta), batch_norm
    yield "batch_norm_mean", (x, gamma, beta), lambda x, *_: ops.mean(x, (0, 1)), 0
    yield "batch_norm_variance", (x, gamma, beta), lambda x, *_: ops.var(x, (0, 1)), 0
    yield "batch_norm_residual", (x, gamma, beta, real(4, 3, 6)), lambda x, gamma, beta, residual: ops.relu(
        batch_norm(x, gamma, beta) + residual)  # fmt: skip
    yield "batch_norm_inference", (x, gamma, beta, mean, variance), lambda x, gamma, beta, mean, variance: (
        ops.batch_normalization(x, mean, variance, -1, beta, gamma, EPSILON)), 3  # fmt: skip
    yield "layer_norm", (x, gamma, beta), lambda x, gamma, beta: ops.layer_normalization(x, gamma, beta, -1, EPSILON)
    yield "group_norm", (x, gamma, beta), group_norm
    scores, mask = real(2, 3, 4, low=-6, high=6), booleans(2, 3, 4)
    mask[0, 1] = mask[1] = False
    yield "softmax_masked", (scores, mask), lambda x, mask: layers.Softmax()(x, mask=mask)
    yield "softmax_masked_over_axes", (scores, mask), lambda x, mask: layers.Softmax((1, 2))(x, mask=mask)


def losses():
    logits, targets = real(4, 5, low=-6, high=6), real(4, 5, low=0, high=1)
    yield "sparse_softmax_cross_entropy", (logits, indices(5, 4)), lambda x, labels: (
        ops.sparse_categorical_crossentropy(labels, x, from_logits=True))  # fmt: skip
    yield "sigmoid_cross_entropy", (logits, targets), lambda x, t: ops.binary_crossentropy(t, x, from_logits=True), 1
    yield "binary_cross_entropy", (real(4, 5, low=0.01, high=0.99), targets), lambda x, t: (
        ops.binary_crossentropy(t, x)), 1  # fmt: skip


def with_weights(layer):
    """The layer as a function of the input, its weights and, if given, the initial states."""
    layer.build((2, 5, 4))
    others = [variable.value for variable in layer.non_trainable_variables]

    def call(x, kernel, recurrent_kernel, bias, *states):
        options = {"initial_state": list(states)} if states else {}
        return layer.stateless_call([kernel, recurrent_kernel, bias], others, x, **options)[0]

    return call


def recurrences():
    x, h, c = real(2, 5, 4), real(2, 3), real(2, 3)
    for name, gates, bias, make in (("lstm", 4, (12,), layers.LSTM), ("gru", 3, (2, 9), layers.GRU),
                                    ("simple_rnn", 1, (3,), layers.SimpleRNN)):  # fmt: skip
        inputs = (x, real(4, 3 * gates), real(3, 3 * gates), real(*bias))
        yield name, inputs, with_weights(make(3))
        yield f"{name}_sequences", inputs, with_weights(make(3, return_sequences=True))
        yield f"{name}_states", (*inputs, h, c)[: 6 if name == "lstm" else 5], with_weights(make(3))


def images():
    x = real(2, 7, 9, 3)
    for method in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        resize = lambda x, size, method=method, **options: ops.image.resize(x, size, interpolation=method, **options)
        yield f"resize_{method}", (x,), lambda x, resize=resize: resize(x, (11, 4))
        if method != "nearest":
            yield f"resize_antialiased_{method}", (x,), lambda x, resize=resize: resize(x, (3, 4), antialias=True)
    yield "resize_cropped", (x,), lambda x: ops.image.resize(x, (8, 5), crop_to_aspect_ratio=True)
    yield "resize_padded", (x,), lambda x: ops.image.resize(x, (8, 5), pad_to_aspect_ratio=True, fill_value=0.5)
    # No position is halfway between two pixels, where Keras' backends round to different ones.
    turns = np.array([[0.9, -0.3, 1.27, 0.4, 1.1, -1.97, 0, 0], [1.2, 0.1, -3.47, -0.2, 0.8, 1.73, 0, 0]], np.float32)
    for fill in ("nearest", "constant", "reflect", "wrap"):
        yield f"affine_transform_{fill}", (x, turns), lambda x, turns, fill=fill: ops.image.affine_transform(
            x, turns, fill_mode=fill, fill_value=0.25), 1  # fmt: skip
    yield "affine_transform_of_nearest", (x, turns), lambda x, turns: ops.image.affine_transform(
        x, turns, interpolation="nearest", fill_mode="wrap"), 1  # fmt: skip


def moves(crops, height, width):
    """The affine transforms from crops of this size, flipped, to their images, as in crop_and_flip."""
    vertical, horizontal = crops[:, 4] != 0, crops[:, 5] != 0
    down, right = np.where(vertical, -1, 1), np.where(horizontal, -1, 1)
    top = crops[:, 0] + crops[:, 1] + np.where(vertical, height - 1, 0)
    left = crops[:, 2] + crops[:, 3] + np.where(horizontal, width - 1, 0)
    zeros = np.zeros(len(crops))
    return np.stack([right, zeros, left, zeros, down, top, zeros, zeros], 1).astype(np.float32)


def crops():
    """Crops that extend beyond the images, and crops of u8 images inside them."""
    x = real(3, 7, 9, 2)
    places = np.array([[-3, 0.25, 2, 0.5, 0, 0], [5, 0.75, -4, 0.25, 1, 0], [1, 0.5, 6, 0.75, 1, 1]], np.float32)
    whole = places * [1, 0, 1, 0, 1, 1]  # since Keras mixes pixels at a border with the constant
    for fill in ("nearest", "constant", "reflect", "wrap"):
        at = (whole if fill == "constant" else places).astype(np.float32)
        yield f"crop_and_flip_{fill}", (x, at), lambda x, at, fill=fill: ops.image.affine_transform(
            x, moves(at, 4, 6), fill_mode=fill, fill_value=0.25)[:, :4, :6], 0  # fmt: skip
    images = RANDOM.integers(0, 256, (4, 7, 9, 3)).astype(np.uint8)
    inside = np.array([[2, 0, 5, 0, v, h] for v in (0, 1) for h in (0, 1)], np.float32)
    yield "crop_and_flip_inside", (images, inside), lambda x, at: jax.numpy.stack(
        [ops.flip(crop, np.flatnonzero(flips)) for crop, flips in
         zip(ops.image.crop_images(x, 2, 5, target_height=5, target_width=4), inside[:, 4:])])  # fmt: skip


def cases(driver):
    """By name: the inputs and Keras' op of each row and, if lockstep's is differentiable only in the first inputs, the
    number of these inputs."""
    groups = (functools.partial(elementwise, unary_ops(driver)), with_numbers, of_integers, of_u8_and_booleans, comparisons, of_activations, creation, shapes, reductions,
              indexing, products, windows, normalizations, losses, recurrences, images, crops)  # fmt: skip
    return {name: row for group in groups for name, *row in group()}


class Row:
    """A row with Keras' result and its gradients by the index of the input: those of sum(weights * result)."""

    def __init__(self, inputs, op, differentiable=None):
        self.inputs, self.weights, self.gradients = inputs, None, {}
        of_reals = {i: x for i, x in enumerate(inputs[:differentiable]) if x.dtype == np.float32}

        def call(reals):
            return op(*(reals.get(i, x) for i, x in enumerate(inputs)))

        result = jax.eval_shape(call, of_reals)
        if not of_reals or result.dtype != np.float32:
            self.result = np.asarray(call({}))
            return
        self.weights = real(*result.shape)

        def with_gradients(reals, weights):  # compiled as a whole, which takes half the time
            result, gradients = jax.vjp(call, reals)
            return result, gradients(weights)[0]

        self.result, self.gradients = jax.tree.map(np.asarray, jax.jit(with_gradients)(of_reals, self.weights))

    def save(self, path):
        """Writes what ops_driver reads."""
        arrays = {str(i): values for i, values in enumerate(self.inputs)}
        np.savez(path, **arrays, **({} if self.weights is None else {"weights": self.weights}))


def differs(name, found, expected, tolerance):
    """Whether lockstep's dtype and values differ from those expected; if so, prints how."""
    dtype, values = found
    kind = {"f": "f32", "i": "integers", "u": "u8", "b": "bool"}[expected.dtype.kind]
    same_kind = dtype in ("i32", "i64", "u8") if kind == "integers" else dtype == kind
    if same_kind and values.shape == expected.shape and np.allclose(values, expected, tolerance, tolerance):
        return False
    difference = abs(values - expected).max() if values.shape == expected.shape else "-"
    print(f"{name}: {dtype} {values.shape}, expected {expected.dtype} {expected.shape}; difference {difference}")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    driver = parser.parse_args().driver
    rows = {name: Row(*row) for name, row in cases(driver).items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, row in rows.items():
            row.save(pathlib.Path(folder) / f"{name}.npz")
        found = {name: result for name, *result in driver_output.tensors_of(driver, folder)}
    ours = {name for name in found if " " not in name}
    assert ours == rows.keys(), f"other rows than the driver's: {sorted(ours ^ rows.keys())}"
    results = [differs(name, found[name], row.result, TOLERANCE) for name, row in rows.items()]
    gradients = [differs(f"{name}, gradient {i}", found[f"{name} {i}"], gradient,
                         GRADIENT_TOLERANCE * max(1, abs(gradient).max()))
                 for name, row in rows.items() for i, gradient in row.gradients.items()]  # fmt: skip
    failures = sum(results + gradients)
    print(f"{len(results)} results and {len(gradients)} gradients, {failures} differ")
    return failures > 0


if __name__ == "__main__":
    raise SystemExit(main())
