"""A program's own layers, loss, metric and optimizer in Keras; tests/support/custom_classes.h has the same classes."""

import keras
from keras import layers

registered = keras.saving.register_keras_serializable


@registered("tests")
class Gain(layers.Layer):
    """factor * scale * x, with a weight for each feature."""

    def __init__(self, factor=1.0, **options):
        super().__init__(**options)
        self.factor = factor

    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=shape[-1:], initializer="ones")

    def compute_output_shape(self, shape):
        return shape

    def call(self, x):
        return x * self.scale * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@registered("tests", "OtherName")
class Residual(layers.Layer):
    """x + inner(x)."""

    def __init__(self, inner, **options):
        super().__init__(**options)
        self.inner = inner

    def build(self, shape):
        if not self.inner.built:  # a file has the shape with which the inner layer was built
            self.inner.build(shape)

    def call(self, x):
        return x + self.inner(x)

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "inner": keras.saving.deserialize_keras_object(config["inner"])})


@registered("tests")
class Negated(layers.Layer):
    """A layer without options and weights."""

    def call(self, x):
        return -x


def mean_power(y_true, y_pred, power):
    return keras.ops.mean(keras.ops.abs(y_true - y_pred) ** power, axis=-1)


@registered("tests")
class PowerLoss(keras.losses.Loss):
    def __init__(self, power=4.0, name="power_loss", **options):
        super().__init__(name=name, **options)
        self.power = power

    def call(self, y_true, y_pred):
        return mean_power(y_true, y_pred, self.power)

    def get_config(self):
        return {**super().get_config(), "power": self.power}


@registered("tests")
class PowerError(keras.metrics.MeanMetricWrapper):
    def __init__(self, power=4.0, name="power_error", **options):
        super().__init__(lambda y_true, y_pred: mean_power(y_true, y_pred, power), name=name, **options)
        self.power = power

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype, "power": self.power}


@registered("tests")
class HeavyBall(keras.optimizers.Optimizer):
    """m = decay * m + g; w -= learning_rate * m."""

    def __init__(self, learning_rate=0.01, decay=0.9, name="heavy_ball", **options):
        super().__init__(learning_rate=learning_rate, name=name, **options)
        self.decay = decay

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.momentums = self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient, variable, learning_rate):
        momentum = self.momentums[self._get_variable_index(variable)]
        self.assign(momentum, momentum * self.decay + gradient)
        self.assign_sub(variable, learning_rate * momentum)

    def get_config(self):
        return {**super().get_config(), "decay": self.decay}
