"""Compares the results of lockstep's ops with those of keras.ops, keras.activations and NumPy.

usage: ops_interop.py --driver OPS_DRIVER
"""

import argparse
import pathlib
import tempfile

import driver_output
import keras_backend

keras_backend.choose("numpy")

import numpy as np
from keras import activations, ops

RANDOM = np.random.default_rng(1)
AXES = {"axis": (0, -1), "keepdims": True}
TOLERANCE = 2e-6


def real(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def indices(most, *shape, low=0):
    return RANDOM.integers(low, most, shape)


def booleans(*shape):
    return RANDOM.random(shape) < 0.5


def sparsemax(x, axis):
    """By bisection of the shift after which the positive elements have the sum 1. Keras 3.15 has another result."""
    low, high = x.max(axis, keepdims=True) - 1, x.max(axis, keepdims=True)
    for _ in range(40):
        middle = (low + high) / 2
        above = np.maximum(x - middle, 0).sum(axis, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(x - low, 0)


def elementwise():
    a, b, positive = real(2, 3, 4), real(3, 1), real(2, 3, 4, low=0.1, high=3)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        yield name, (a, b), getattr(ops, name)
    yield "power", (positive, b), ops.power
    yield "squared_difference", (a, b), lambda x, y: (x - y) ** 2
    yield "add_n", (a, positive, a), lambda *x: sum(x)
    for name in ("negative", "exp", "expm1", "square", "reciprocal", "sin", "cos", "erf", "abs", "sign", "floor", "ceil"):
        yield name, (a,), getattr(ops, name)
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
        yield name, (positive,), getattr(ops, name)
    yield "round", (np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.7, -0.2], np.float32),), ops.round
    yield "clip", (a,), lambda x: ops.clip(x, -0.5, 1.25)
    yield "cast", (a,), lambda x: ops.cast(x, "int32")


def comparisons():
    a, b = indices(3, 2, 3, 4).astype(np.float32), indices(3, 4).astype(np.float32)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        yield name, (a, b), getattr(ops, name)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, (booleans(4, 3), booleans(3)), getattr(ops, name)
    yield "logical_not", (booleans(4, 3),), ops.logical_not
    yield "where", (booleans(3, 1), a, b), ops.where
    for name in ("isnan", "isinf", "isfinite"):
        yield name, (np.array([0, -1, np.nan, np.inf, -np.inf], np.float32),), getattr(ops, name)


def of_activations():
    x = real(3, 4, 5, low=-6, high=6)
    options = {"leaky_relu": {"negative_slope": 0.3}, "elu": {"alpha": 1.5}, "gelu": {"approximate": False},
               "hard_shrink": {"threshold": 0.75}, "soft_shrink": {"threshold": 0.75},
               "threshold": {"threshold": 0.5, "default_value": -1}, "glu": {"axis": 1}}  # fmt: skip
    for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "sigmoid", "hard_sigmoid", "silu", "hard_silu",
                 "mish", "softplus", "log_sigmoid", "squareplus", "sparse_plus", "softsign", "tanh", "hard_tanh",
                 "tanh_shrink", "hard_shrink", "soft_shrink", "sparse_sigmoid", "threshold", "glu"):  # fmt: skip
        yield name, (x,), lambda x, name=name: getattr(activations, name)(x, **options.get(name, {}))
    yield "sparsemax", (x,), lambda x: sparsemax(x, 1)
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
    yield "flip", (x,), lambda x: ops.flip(x, (0, -1))
    yield "roll", (x,), lambda x: ops.roll(x, -5, 2)
    yield "moveaxis", (x,), lambda x: ops.moveaxis(x, 0, -1)
    yield "swapaxes", (x,), lambda x: ops.swapaxes(x, 1, -1)
    yield "pad_constant", (x,), lambda x: ops.pad(x, width, constant_values=0.5)
    yield "pad_reflect", (x,), lambda x: ops.pad(x, width, "reflect")
    yield "pad_symmetric", (x,), lambda x: ops.pad(x, width, "symmetric")
    yield "pad_edge", (x,), lambda x: np.pad(x, width, "edge")  # keras.ops lacks this mode


def reductions():
    x = real(3, 4, 5)
    for name in ("sum", "mean", "max", "min", "prod", "var", "std", "norm", "logsumexp"):
        yield name, (x,), lambda x, name=name: getattr(ops, name)(x, **AXES)
    for name in ("any", "all"):
        yield name, (booleans(3, 4, 2),), lambda x, name=name: getattr(ops, name)(x, **AXES)
    ties = indices(3, 3, 4, 5).astype(np.float32)
    yield "argmax", (ties,), lambda x: ops.argmax(x, 1)
    yield "argmin", (ties,), lambda x: ops.argmin(x, -1, keepdims=True)
    yield "cumsum", (x,), lambda x: ops.cumsum(x, 1)
    yield "cumprod", (x,), lambda x: ops.cumprod(x, -1)
    yield "sort", (x,), lambda x: ops.sort(x, 1)
    yield "argsort", (x,), ops.argsort
    yield "top_k_values", (x,), lambda x: ops.top_k(x, 3)[0]
    yield "top_k_indices", (x,), lambda x: ops.top_k(x, 3)[1]


def indexing():
    x = real(3, 4, 5)
    yield "take", (x, indices(4, 2, 3, low=-4)), lambda x, i: ops.take(x, i, 1)
    yield "take_along_axis", (x, indices(4, 3, 2, 5)), lambda x, i: ops.take_along_axis(x, i, 1)
    yield "embedding_lookup", (real(6, 3), indices(6, 2, 4)), lambda table, i: ops.take(table, i, 0)
    yield "scatter", (indices(4, 5, 1), real(5, 3)), lambda i, values: ops.scatter(i, values, (4, 3))
    places = np.array([[2, 1], [0, 3]])
    yield "scatter_update", (x, places, real(2, 5)), ops.scatter_update
    yield "segment_sum", (real(7, 2), np.sort(indices(3, 7))), lambda x, ids: ops.segment_sum(x, ids, 4)


def products():
    yield "matmul", (real(2, 1, 3, 4), real(5, 4, 6)), ops.matmul
    yield "dot", (real(2, 3, 4), real(5, 4, 6)), ops.dot
    yield "outer", (real(2, 3), real(4)), ops.outer
    yield "tensordot", (real(2, 3, 4), real(4, 2, 5)), lambda a, b: ops.tensordot(a, b, ((2, 0), (0, 1)))
    yield "einsum", (real(2, 3, 5, 4), real(2, 4, 6)), lambda a, b: ops.einsum("b...i,bij->...bj", a, b)
    attend = ops.dot_product_attention
    q, k, v = real(2, 5, 3, 4), real(2, 5, 3, 4), real(2, 5, 3, 4)
    yield "attention", (q, k, v), attend
    yield "attention_causal", (q, k, v), lambda q, k, v: attend(q, k, v, scale=0.4, is_causal=True)
    yield "attention_masked", (q, k, v, booleans(2, 1, 5, 5)), lambda q, k, v, mask: attend(q, k, v, mask=mask)


def images():
    x = real(2, 7, 9, 3)
    for method in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        resize = lambda x, size, method=method, **options: ops.image.resize(x, size, interpolation=method, **options)
        yield f"resize_{method}", (x,), lambda x, resize=resize: resize(x, (11, 4))
        if method != "nearest":
            yield f"resize_antialiased_{method}", (x,), lambda x, resize=resize: resize(x, (3, 4), antialias=True)
    turns = np.array([[0.9, -0.3, 1.25, 0.4, 1.1, -2, 0, 0], [1.2, 0.1, -3.5, -0.2, 0.8, 1.75, 0, 0]], np.float32)
    for fill in ("nearest", "constant", "reflect", "wrap"):
        yield f"affine_transform_{fill}", (x, turns), lambda x, turns, fill=fill: ops.image.affine_transform(
            x, turns, fill_mode=fill, fill_value=0.25)  # fmt: skip


def cases():
    """The inputs and Keras' op of each row, by name."""
    groups = (elementwise, comparisons, of_activations, creation, shapes, reductions, indexing, products, images)
    return {name: (inputs, op) for group in groups for name, inputs, op in group()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    driver = parser.parse_args().driver
    rows = cases()
    with tempfile.TemporaryDirectory() as folder:
        for name, (inputs, _) in rows.items():
            np.savez(pathlib.Path(folder) / f"{name}.npz", **{str(i): values for i, values in enumerate(inputs)})
        found = {name: result for name, *result in driver_output.tensors_of(driver, folder)}
    assert found.keys() == rows.keys(), f"other rows than the driver's: {sorted(found.keys() ^ rows.keys())}"
    failures = 0
    for name, (inputs, op) in rows.items():
        expected = np.asarray(op(*inputs))
        dtype, values = found[name]
        kind = {"f": "f32", "i": "integers", "b": "bool"}[expected.dtype.kind]
        same_kind = dtype in ("i32", "i64", "u8") if kind == "integers" else dtype == kind
        if same_kind and values.shape == expected.shape and np.allclose(values, expected, TOLERANCE, TOLERANCE):
            continue
        failures += 1
        difference = abs(values - expected).max() if values.shape == expected.shape else "-"
        print(f"{name}: {dtype} {values.shape}, expected {expected.dtype} {expected.shape}; difference {difference}")
    print(f"{len(rows)} rows, {failures} differ")
    return failures > 0


if __name__ == "__main__":
    raise SystemExit(main())
