"""A Keras model that applies each of the operations (keras.ops) that lockstep reads in files."""

import keras
import numpy as np


ROWS = 7  # the size of the batches
UNTESTED = {"Norm"}  # Keras' NumPy backend does not take its axes in the form that files have


def functions(x, y):
    """Of each element, or of two."""
    ops = keras.ops
    positive = ops.abs(x) + 0.25
    of_any = ("abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "negative", "reciprocal", "round", "sign", "sin", "square",
              "stop_gradient", "celu", "elu", "hard_sigmoid", "hard_shrink", "hard_silu", "hard_tanh", "leaky_relu", "log_sigmoid",
              "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink", "softplus", "softsign", "sparse_plus",
              "sparse_sigmoid", "squareplus", "tanh", "tanh_shrink", "arcsinh", "arctan", "cosh", "sinh", "tan", "trunc")
    results = [getattr(ops, name)(x) for name in of_any]
    results += [getattr(ops, name)(positive) for name in ("log", "log10", "log1p", "log2", "rsqrt", "sqrt")]
    results += [getattr(ops, name)(ops.tanh(x)) for name in ("arccos", "arcsin", "arctanh")]
    of_two = ("add", "arctan2", "divide", "logaddexp", "maximum", "minimum", "multiply", "subtract", "true_divide")
    results += [getattr(ops, name)(x, y) for name in of_two]
    results += [ops.floor_divide(x, y), ops.mod(x, 0.75)]
    return [*results, ops.arccosh(positive + 1), ops.power(positive, y), ops.power(2.5, x), ops.gelu(x, approximate=False), ops.gelu(y),
            ops.threshold(x, 0.25, -1.0), ops.clip(x, -0.5, 0.75), ops.round(x, 1), ops.glu(x, axis=-1),
            ops.softmax(x, axis=1), ops.log_softmax(x, axis=-1), ops.cast(x, "float32"), x + np.arange(4.0, dtype="f4")]


def arrays(x, y):
    """Reductions, products and other shapes."""
    ops = keras.ops
    of_axes = ("logsumexp", "amax", "amin", "max", "mean", "min", "prod", "std", "sum", "var")
    results = [getattr(ops, name)(x, axis=-1) for name in of_axes]  # logsumexp of two axes: see UNTESTED
    results += [getattr(ops, name)(y, axis=(1, 2), keepdims=True) for name in of_axes[1:]]
    heads = ops.reshape(ops.concatenate([x, y], axis=2), (-1, 3, 2, 4))
    mask = ops.expand_dims(ops.swapaxes(y[:, :, :3], 1, 2) > -0.5, 1)
    attention = ops.dot_product_attention
    return [*results, ops.cumprod(x, axis=1), ops.cumsum(y, axis=-1), ops.einsum("bik,bjk->bij", x, y), ops.einsum("bik,bjk,bil->blj", x, y, x),
            ops.einsum("bik,kj->bij", x, np.arange(8, dtype="f4").reshape(4, 2)), ops.matmul(x, ops.transpose(y, (0, 2, 1))),
            ops.dot(x, np.arange(8, dtype="f4").reshape(4, 2)),
            ops.tensordot(x, np.arange(6, dtype="f4").reshape(3, 2), [[1], [0]]),
            attention(heads, ops.flip(heads, 1), heads, is_causal=True), attention(heads, heads, heads, mask=mask, scale=0.75),
            attention(heads, heads, heads, bias=ops.expand_dims(ops.swapaxes(x[:, :, :3], 1, 2), 1)),
            ops.concatenate([x, y], axis=1), ops.stack([x, y], axis=-1), x[..., None, 1:4:2], *ops.split(x, 2, axis=-1),
            *ops.split(x, [1], axis=1), *ops.unstack(x, axis=1), ops.flip(x, 2), ops.moveaxis(x, 1, -1), ops.repeat(x, 2, axis=1),
            ops.repeat(x, [2, 0, 1], axis=1),
            ops.roll(x, -1, axis=2), ops.roll(x, (1, 2), axis=(1, 2)), ops.moveaxis(x, (1, 2), (2, 1)),
            ops.expand_dims(x, (1, -1)), ops.squeeze(x[:, :1], 1), ops.pad(x, ((0, 0), (1, 2), (2, 0)), "reflect"),
            ops.pad(x, ((0, 0), (0, 0), (1, 0)), constant_values=0.5), ops.pad(x, ((0, 0), (2, 1), (1, 0)), "symmetric"),
            ops.diff(x, axis=1), ops.median(x, axis=-1), ops.depth_to_space(ops.reshape(x, (-1, 3, 1, 4)), 2),
            ops.space_to_depth(ops.reshape(x, (-1, 2, 2, 3)), 2),
            ops.tile(x, (1, 2, 1)), ops.tile(x, 2), ops.tril(x, -1), ops.triu(x), ops.zeros_like(x) + y, ops.ones_like(x) - y,
            x[:, ::-1, -2:0:-1], ops.average(x, axis=1), ops.average(x, axis=1, weights=np.array([1, 0.5, 2], "f4")),
            ops.average(x, axis=-1, weights=ops.abs(y)), ops.quantile(x, 0.3, axis=(1, 2)), ops.diagonal(x, 1, 1, 2),
            ops.trace(x, axis1=1, axis2=2), ops.slice(x, [0, 1, 2], [ROWS, 2, 1]), ops.slice_update(ops.abs(x), [0, 1, 1], y[:, :2, :3]),
            ops.full_like(x, 0.5) * y, ops.broadcast_to(x[:, :1], (ROWS, 3, 4))]


def images(x, y):
    """Of images and sequences."""
    ops = keras.ops
    pictures = ops.reshape(ops.concatenate([x, y], axis=2), (-1, 3, 4, 2))
    kernel = np.linspace(-1, 1, 16, dtype="f4").reshape(2, 2, 2, 2)
    steps = np.linspace(-1, 1, 16, dtype="f4").reshape(2, 4, 2)
    moves = ops.reshape(x[:, :2] * np.array([[0.25] * 4, [0.25, 0.25, 0, 0]], "f4") + np.array([[1, 0, 0.5, 0], [1, 0.25, 0, 0]], "f4"),
                        (-1, 8))
    return [ops.conv(pictures, kernel, strides=(1, 2), padding="same"), ops.conv(pictures, kernel, dilation_rate=2, padding="same"),
            ops.conv(x, steps, strides=2), ops.depthwise_conv(pictures, kernel), ops.depthwise_conv(x, steps, padding="same"),
            ops.separable_conv(pictures, kernel, kernel.reshape(1, 1, 4, 4)), ops.max_pool(pictures, 2, 1), ops.max_pool(x, 2, 1, "same"),
            ops.average_pool(pictures, 2, 1, "same"), ops.average_pool(y, 2, strides=1), ops.image.resize(pictures, (5, 3)),
            ops.image.resize(pictures, (2, 6), "nearest"), ops.image.affine_transform(pictures, moves, fill_mode="reflect"),
            ops.image.affine_transform(pictures, moves, "nearest")]


def masks_and_indices(x, y):
    """Comparisons, masks and indices, which are not floating-point numbers."""
    ops = keras.ops
    of_two = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
    near = ops.round(x), ops.round(y)
    results = [getattr(ops, name)(*near) for name in of_two]
    first, second = x > 0.25, ops.cast(near[1], "bool")
    results += [getattr(ops, name)(first, second) for name in ("logical_and", "logical_or", "logical_xor")]
    odd = ops.log(ops.relu(x)) + ops.reciprocal(ops.relu(y))
    results += [getattr(ops, name)(odd) for name in ("isnan", "isinf", "isfinite")]
    ids = ops.cast(ops.clip(ops.abs(x) * 2, 0, 3), "int32")
    table = np.arange(8, dtype="f4").reshape(4, 2)
    return [*results, ops.isclose(x, y, 0.25, 0.5), ops.count_nonzero(near[0], axis=1), ops.logical_not(first),
            ops.any(first, axis=-1), ops.all(second, axis=1, keepdims=True),
            ops.where(first, x, y), ops.where(second, x, -1.0), ops.where(first, 2.5, 0), ops.where(first, ids, 7),
            ops.argmax(x, axis=1), ops.argmin(x, axis=-1, keepdims=True), ops.argsort(x, axis=1), ops.sort(x, axis=-1),
            *ops.top_k(x, 2), ops.take(x, [2, 0, -1], axis=-1), ops.take(table, ids, axis=0), ops.take(table, ids),
            ops.take_along_axis(x, ops.argsort(y, axis=-1), axis=-1), ops.one_hot(ids, 4),
            ops.one_hot(ops.minimum(ids, 2), 3, axis=1),
            first * x, ids + 1, ids * 0.5, -ids, ops.exp(ids), ops.mean(ids, axis=1), ops.sum(first, axis=1), ids / 2,
            ops.cast(first, "int32") + ids, ops.convert_to_tensor(first), ops.maximum(ids, 1), ops.concatenate([ids, ops.ones_like(ids)], axis=1)]


def all_operations():
    """Each operation's results are outputs of the model."""
    x, y = keras.Input((3, 4)), keras.Input((3, 4))
    return keras.Model([x, y], [*functions(x, y), *arrays(x, y), *images(x, y), *masks_and_indices(x, y)])


def classes(model):
    """The classes of the operations in a model."""
    return {layer["class_name"] for layer in model.get_config()["layers"] if (layer["module"] or "").startswith("keras.src.ops")}
