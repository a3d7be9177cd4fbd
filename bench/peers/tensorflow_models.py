"""lockstep's models in Keras, with their optimizers and losses."""

import keras
from keras import layers


def conv_module(x, filters, kernel, strides=1, padding="same"):
    x = layers.Conv2D(filters, kernel, strides=strides, padding=padding)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def inception(x, filters_1x1, filters_3x3):
    return layers.concatenate([conv_module(x, filters_1x1, 1), conv_module(x, filters_3x3, 3)])


def downsample(x, filters):
    return layers.concatenate([conv_module(x, filters, 3, 2, "valid"), layers.MaxPooling2D(3, 2)(x)])


def mini_googlenet():
    """The small GoogLeNet of Zhang et al. (2017) for images of 32x32x3."""
    images = keras.Input((32, 32, 3))
    x = conv_module(images, 96, 3)
    for block, *filters in (
        (inception, 32, 32),
        (inception, 32, 48),
        (downsample, 80),
        (inception, 112, 48),
        (inception, 96, 64),
        (inception, 80, 80),
        (inception, 48, 96),
        (downsample, 96),
        (inception, 176, 160),
        (inception, 176, 160),
    ):
        x = block(x, *filters)
    x = layers.Flatten()(layers.Dropout(0.5)(layers.AveragePooling2D(7)(x)))
    return keras.Model(images, layers.Dense(10)(x))


def mlp():
    """Dense layers for two classes."""
    inputs = keras.Input((8000,))
    x = layers.Dense(4000, activation="tanh")(inputs)
    for units in (2000, 500, 300):
        x = layers.Dense(units, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(1)(x))


def siamese_lstm():
    """Classifies whether two sequences belong together, from the Keras guide to the functional API: one LSTM for
    both."""
    sequences = [keras.Input((140, 256)), keras.Input((140, 256))]
    shared = layers.LSTM(64)
    merged = layers.concatenate([shared(sequence) for sequence in sequences])
    return keras.Model(sequences, layers.Dense(1)(merged))


def application(make):
    return lambda: make(weights=None, classifier_activation=None)


class Workload:
    """A model, which returns logits, with its settings in `lockstep bench`. `params` as Keras counts them."""

    def __init__(self, make_model, params, shape, classes, make_optimizer, inputs=1):
        self.make_model, self.params, self.shape, self.classes = make_model, params, shape, classes
        self.make_optimizer, self.inputs = make_optimizer, inputs

    def examples(self, count):
        """Returns (inputs, labels), the same each time."""
        seeds = keras.random.SeedGenerator(1)
        inputs = tuple(keras.random.normal((count, *self.shape), seed=seeds) for _ in range(self.inputs))
        return inputs, keras.random.randint((count, 1), 0, self.classes, seed=seeds)

    def losses(self, labels, logits):
        """Returns a loss for each example."""
        if self.classes == 2:
            return keras.losses.binary_crossentropy(labels, logits, from_logits=True)
        return keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def sgd(learning_rate):
    return lambda: keras.optimizers.SGD(learning_rate, momentum=0.9)


WORKLOADS = {
    "minigooglenet": Workload(mini_googlenet, 1_656_250, (32, 32, 3), 10, sgd(5e-3)),
    "mlp": Workload(mlp, 41_157_101, (8000,), 2, lambda: keras.optimizers.Adam(1e-4)),
    "resnet50": Workload(application(keras.applications.ResNet50), 25_636_712, (224, 224, 3), 1000, sgd(0.1)),
    "siamese-lstm": Workload(siamese_lstm, 82_305, (140, 256), 2, keras.optimizers.RMSprop, inputs=2),
    "xception": Workload(application(keras.applications.Xception), 22_910_480, (299, 299, 3), 1000,
                         keras.optimizers.RMSprop),
}
