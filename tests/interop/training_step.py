"""Training steps of a model in Keras, on JAX, and in lockstep."""

import json
import subprocess

import jax
import keras
import numpy as np


class KerasTraining:
    """Keras' training with SGD of a model with these weights, in one dtype."""

    def __init__(self, model, dtype="float64"):
        config = json.dumps(keras.saving.serialize_keras_object(model)).replace("float32", dtype)
        config = config.replace('"synchronized": true', '"synchronized": false')  # which Keras does not know on JAX
        with jax.enable_x64():
            self.model = keras.saving.deserialize_keras_object(json.loads(config))
            self.model.set_weights([np.asarray(value, dtype) for value in model.get_weights()])
            for layer in self.model._flatten_layers():
                if isinstance(layer, keras.layers.Normalization):
                    layer.finalize_state()  # computes with the weights that were set
        self.dtype = dtype
        self.compiled = jax.jit(jax.value_and_grad(self.loss_of, has_aux=True))

    def loss_of(self, trainable, others, xs, targets):
        ys, others = self.model.stateless_call(trainable, others, xs if len(xs) > 1 else xs[0], training=True)
        ys = keras.tree.flatten(ys)
        return sum(keras.ops.mean((y - t) ** 2) for y, t in zip(ys, targets, strict=True)), (ys, others)

    def variables(self):
        some = self.model.trainable_variables, self.model.non_trainable_variables
        return [[each.value for each in variables] for variables in some]

    def step(self, xs, targets):
        """The loss, for each weight its gradient or, if it is not trainable, its new value, and the model's results."""
        with jax.enable_x64():
            xs = [x.astype(self.dtype) for x in xs]
            (loss, (ys, others)), gradients = self.compiled(*self.variables(), xs, targets)
        trained = {each.path: value for each, value in zip(self.model.trainable_variables, gradients)}
        updated = {each.path: value for each, value in zip(self.model.non_trainable_variables, others)}
        values = trained | updated
        return float(loss), [np.asarray(values[weight.path]) for weight in self.model.weights], list(map(np.asarray, ys))

    def curve(self, batches, learning_rate):
        """The losses of a training on the batches."""
        losses = []
        with jax.enable_x64():
            trainable, others = self.variables()
            for x, targets in batches:
                (loss, (_, others)), gradients = self.compiled(trainable, others, [x.astype(self.dtype)], targets)
                trainable = [value - learning_rate * gradient for value, gradient in zip(trainable, gradients)]
                losses.append(float(loss))
        return np.array(losses)


def differences(values, others, least=1e-3):
    """The distance of each tensor from that of `others`, relative to the norm of the latter or, if that is smaller, to
    `least` times the median norm: some gradients, such as those of biases before a batch normalization, are 0 but for
    rounding errors."""
    norms = np.array([np.linalg.norm(other.ravel()) for other in others])
    distances = np.array([np.linalg.norm((a - b).ravel()) for a, b in zip(values, others, strict=True)])
    return distances / np.maximum(norms, np.median(norms) * least)


class Files:
    """A model's file and the files beside it."""

    def __init__(self, driver, path, model):
        self.driver, self.path, self.model = driver, path, model

    def write(self, xs, targets):
        for what, values in (("input", xs), ("target", targets)):
            for number, value in enumerate(values):
                value.tofile(self.path.with_name(f"{what}_{number}"))

    def lockstep(self, command, *words):
        words = [self.driver, command, self.path, self.path.parent, *map(str, words)]
        return np.array(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.split(), float)

    def gradients(self):
        """lockstep's loss, and the gradients and new values that KerasTraining.step returns."""
        loss = self.lockstep("gradients")[0]
        before = self.model.get_weights()
        self.model.load_weights(self.path.with_name("gradients.weights.h5"))
        gradients = self.model.get_weights()
        self.model.set_weights(before)
        return loss, gradients
