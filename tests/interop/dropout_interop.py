"""Compares a training step of layers with dropout inside, recurrent ones and attention, with Keras': the results, and
the gradients of inputs and weights.

Keras multiplies by the factors that lockstep draws. Each input is an Embedding whose rows are the inputs of one time step
each, so that the Embedding's gradient is that of the input.

usage: dropout_interop.py --driver FILES_DRIVER
"""

import argparse
import collections
import pathlib
import tempfile

import keras_backend

keras_backend.choose("jax")

import keras
import numpy as np
from keras import layers
from training_step import Files, KerasTraining, differences

ROWS, STEPS, KEYS, FEATURES = 6, 5, 4, 4
TOLERANCE = 1e-5  # of each result and gradient, relative to its norm
BOTH = {"dropout": 0.25, "recurrent_dropout": 0.4}
SEQUENCES = {"return_sequences": True}
# Recurrent layers, and whether their inputs have masks.
RECURRENT = [(layers.LSTM(4, dropout=0.25, **SEQUENCES), False),
             (layers.LSTM(4, dropout=0.25, activation="relu"), True),
             (layers.LSTM(4, recurrent_dropout=0.4, use_bias=False), False),
             (layers.LSTM(4, **BOTH, **SEQUENCES), True),
             (layers.LSTM(4, **BOTH, go_backwards=True), True),
             (layers.GRU(4, dropout=0.25, go_backwards=True, **SEQUENCES), True),
             (layers.GRU(4, recurrent_dropout=0.4), True),
             (layers.GRU(4, **BOTH, **SEQUENCES), True),
             (layers.GRU(4, **BOTH, reset_after=False), True),
             (layers.GRU(4, dropout=0.25, reset_after=False, go_backwards=True, **SEQUENCES), False),
             (layers.SimpleRNN(4, dropout=0.25, **SEQUENCES), True),
             (layers.SimpleRNN(4, recurrent_dropout=0.4, go_backwards=True), False),
             (layers.SimpleRNN(4, **BOTH, go_backwards=True, **SEQUENCES), True),
             (layers.Bidirectional(layers.LSTM(4, **BOTH, **SEQUENCES)), True),
             (layers.Bidirectional(layers.GRU(4, dropout=0.25), "sum"), False)]  # fmt: skip
WITH_STATES = [layers.LSTM(4, return_state=True, **BOTH), layers.GRU(4, reset_after=False, **BOTH, **SEQUENCES)]
# Layers that are called with a query and a value, and further arguments of the call.
MULTI_HEAD = [(layers.MultiHeadAttention(2, 3, dropout=0.3), {}),
              (layers.MultiHeadAttention(2, 3, 5, dropout=0.3), {"return_attention_scores": True}),
              (layers.MultiHeadAttention(2, 3, dropout=0.3, use_gate=True), {"use_causal_mask": True}),
              (layers.GroupQueryAttention(3, 4, 2, dropout=0.3), {}),
              (layers.GroupQueryAttention(3, 4, 2, dropout=0.3, sliding_window=2), {"return_attention_scores": True})]  # fmt: skip
SINGLE_HEAD = [(layers.Attention(dropout=0.3), {}),
               (layers.Attention(True, "concat", dropout=0.3), {"return_attention_scores": True}),
               (layers.AdditiveAttention(dropout=0.3), {"use_causal_mask": True})]  # fmt: skip
ALONG_AN_AXIS = layers.MultiHeadAttention(2, 3, attention_axes=2, dropout=0.3)


def make_model():
    steps, keys = keras.Input((STEPS,)), keras.Input((KEYS,))

    def embedded(ids, masked=True):
        return layers.Embedding(1 + ROWS * STEPS, FEATURES, mask_zero=masked)(ids)

    def states(layer):
        return [layers.GlobalAveragePooling1D()(embedded(keys, False)) for _ in layer.cell.get_initial_state(1)]

    results = [layer(embedded(steps, masked)) for layer, masked in RECURRENT]
    results += [layer(embedded(steps, False), initial_state=states(layer)) for layer in WITH_STATES]
    results += [layer(embedded(steps), embedded(keys), **arguments) for layer, arguments in MULTI_HEAD]
    results += [layer([embedded(steps), embedded(keys)], **arguments) for layer, arguments in SINGLE_HEAD]
    pairs = layers.Reshape((2, KEYS // 2, FEATURES))(embedded(keys, False))
    results.append(ALONG_AN_AXIS(pairs, pairs))
    return keras.Model([steps, keys], keras.tree.flatten(results))


def draws_of_recurrent(layer, features):
    """For each mask of dropout, the rate and the shape; the second axis is that of the gates with masks of their own."""
    cell = layer.cell
    gates = cell.kernel.shape[1] // cell.units if cell.recurrent_dropout else 1
    draws = [(cell.dropout, (ROWS, gates, features)), (cell.recurrent_dropout, (ROWS, gates, cell.units))]
    return [draw for draw in draws if draw[0] > 0]


def draws_of(layer):
    """The index of the layer inside this one or -1, the generator of Keras' random numbers, and for each draw of
    lockstep the rate and the shape."""
    if isinstance(layer, layers.Bidirectional):
        inner = layer.forward_layer, layer.backward_layer
        return [(i, each.cell.seed_generator, draws_of_recurrent(each, FEATURES)) for i, each in enumerate(inner)]
    if isinstance(layer, layers.RNN):
        return [(-1, layer.cell.seed_generator, draws_of_recurrent(layer, FEATURES))]
    if isinstance(layer, (layers.Attention, layers.AdditiveAttention)):
        return [(-1, layer.seed_generator, [(layer.dropout, (ROWS, STEPS, KEYS))])]
    if isinstance(layer, layers.MultiHeadAttention):
        # For each query, the kernel draws a multiple of four numbers.
        shape = (ROWS, 2, 2, KEYS // 2, 4) if layer.name == ALONG_AN_AXIS.name else (ROWS, 2, STEPS, KEYS)
        return [(-1, layer._dropout_layer.seed_generator, [(layer._dropout, shape)])]
    if isinstance(layer, layers.GroupQueryAttention):
        return [(-1, layer._dropout_layer.seed_generator, [(layer.dropout, (ROWS, 4, STEPS, KEYS))])]
    return []


def drawn_by_lockstep(files, model):
    """The factors of dropout, in the order in which Keras draws them, by the generator of its random numbers."""
    draws = [(layer, *draw) for layer in model.layers for draw in draws_of(layer)]
    lines = [(layer.name, inner, rate, *shape) for layer, inner, _, several in draws for rate, shape in several]
    files.path.with_name("draws").write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    files.lockstep("draws")
    factors, number = collections.defaultdict(list), 0
    for layer, _, generator, several in draws:
        for rate, shape in several:
            drawn = np.fromfile(files.path.with_name(f"draw_{number}"), "<f4").reshape(shape)
            values = np.unique(drawn)
            assert np.allclose(values, [0, 1 / (1 - rate)]), f"{layer.name} multiplies by {values} at the rate {rate}"
            factors[generator] += [drawn] if "attention" in layer.name else list(np.moveaxis(drawn, 1, 0))
            number += 1
    return factors


def compare(what, ours, theirs, names):
    apart = differences(ours, theirs, least=0.1)  # the gradients of the keys' biases are 0 but for rounding errors
    print(f"{len(apart)} {what}: largest relative difference {apart.max():.1e} ({names[apart.argmax()]})")
    assert apart.max() <= TOLERANCE, {name: float(each) for name, each in zip(names, apart) if each > TOLERANCE}


def check(driver):
    keras.utils.set_random_seed(1)
    model = make_model()
    random = np.random.default_rng(1)
    for variable in model.variables:
        if "seed" not in variable.path:
            variable.assign(random.uniform(-1, 1, variable.shape))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model.save(path)
        files, training = Files(driver, path, model), KerasTraining(model, "float32")
        factors = drawn_by_lockstep(files, training.model)

        def dropout(inputs, rate, noise_shape=None, seed=None):
            return inputs * factors[seed].pop(0)[..., :inputs.shape[-1]]

        keras.src.backend.random.dropout = dropout
        ids = [np.arange(1, 1 + ROWS * size).reshape(ROWS, size) for size in (STEPS, KEYS)]
        ids = [np.where(random.random(each.shape) < 0.3, 0, each).astype("<f4") for each in ids]
        shapes = [output.shape[1:] for output in model.outputs]
        shapes = [(2, STEPS, KEYS) if shape == (2, STEPS, STEPS) else shape for shape in shapes]  # Keras' is wrong
        targets = [random.standard_normal((ROWS, *shape)).astype("<f4") for shape in shapes]
        files.write(ids, targets)
        loss, gradients = files.gradients()
        their_loss, their_gradients, their_results = training.step(ids, targets)
        assert not any(factors.values()), "Keras draws less than lockstep"
        results = [np.fromfile(path.with_name(f"output_{number}"), "<f4").reshape(result.shape)
                   for number, result in enumerate(their_results)]
    print(f"loss {loss:.7f}, in Keras {their_loss:.7f}")
    compare("results", results, their_results, [output._keras_history.operation.name for output in model.outputs])
    compare("gradients", gradients, their_gradients, [weight.path for weight in model.weights])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    check(parser.parse_args().driver)


if __name__ == "__main__":
    main()
