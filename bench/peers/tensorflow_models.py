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


def unet():
    """Ronneberger et al. (2015) with padded, normalized convolutions: two logits for each pixel."""
    def two_convolutions(x, filters):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))
        return x

    images = keras.Input((128, 128, 3))
    skipped = [two_convolutions(images, 64)]
    for filters in (128, 256, 512, 1024):
        skipped.append(two_convolutions(layers.MaxPooling2D(2)(skipped[-1]), filters))
    x = skipped.pop()
    for skip in reversed(skipped):
        filters = skip.shape[-1]
        x = layers.concatenate([skip, layers.Conv2DTranspose(filters, 2, strides=2)(x)])
        x = two_convolutions(x, filters)
    return keras.Model(images, layers.Conv2D(2, 1, dtype="float32")(x))


def transformer_blocks(x, count, epsilon, causal, dropout):
    """Pre-norm blocks of attention and two dense layers with GELU, then a normalization."""
    width, heads = 384, 6
    for _ in range(count):
        y = layers.LayerNormalization(epsilon=epsilon)(x)
        y = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)(y, y, use_causal_mask=causal)
        x = layers.add([x, layers.Dropout(dropout)(y)])
        y = layers.LayerNormalization(epsilon=epsilon)(x)
        y = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(y))
        x = layers.add([x, layers.Dropout(dropout)(y)])
    return layers.LayerNormalization(epsilon=epsilon)(x)


class Positions(layers.Layer):
    """Adds an embedding of the position to each step."""

    def build(self, shape):
        self.table = layers.Embedding(shape[1], shape[2])
        self.table.build(None)

    def call(self, x):
        return x + self.table(keras.ops.arange(x.shape[1]))


def gpt():
    """lockstep's zoo::gpt for a vocabulary of 65 tokens: logits of the token after each of 256."""
    tokens = keras.Input((256,), dtype="int32")
    x = layers.Dropout(0.1)(Positions()(layers.Embedding(65, 384)(tokens)))
    x = transformer_blocks(x, 6, 1e-5, True, 0.1)
    return keras.Model(tokens, layers.Dense(65, use_bias=False, dtype="float32")(x))


def vit():
    """lockstep's zoo::vit, ViT-S/16 without a class token."""
    images = keras.Input((224, 224, 3))
    x = layers.Reshape((196, 384))(layers.Conv2D(384, 16, strides=16)(images))
    x = transformer_blocks(Positions()(x), 12, 1e-6, False, 0.0)
    return keras.Model(images, layers.Dense(1000, dtype="float32")(layers.GlobalAveragePooling1D()(x)))


def application(make):
    return lambda: make(weights=None, classifier_activation=None)


class Workload:
    """A model, which returns logits, with its settings in `lockstep bench`. `params` as Keras counts them.
    With a `vocabulary` the inputs are tokens. `labels` is the shape of an example's labels."""

    def __init__(self, make_model, params, shape, classes, make_optimizer, inputs=1, vocabulary=None, labels=(1,)):
        self.make_model, self.params, self.shape, self.classes = make_model, params, shape, classes
        self.make_optimizer, self.inputs, self.vocabulary, self.labels = make_optimizer, inputs, vocabulary, labels

    def examples(self, count):
        """Returns (inputs, labels), the same each time."""
        seeds = keras.random.SeedGenerator(1)
        shape = (count, *self.shape)
        inputs = tuple(keras.random.randint(shape, 0, self.vocabulary, seed=seeds) if self.vocabulary else
                       keras.random.normal(shape, seed=seeds) for _ in range(self.inputs))
        return inputs, keras.random.randint((count, *self.labels), 0, self.classes, seed=seeds)

    def losses(self, labels, logits):
        """Returns a loss for each example."""
        if self.classes == 2 and self.labels == (1,):
            return keras.losses.binary_crossentropy(labels, logits, from_logits=True)
        losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        return keras.ops.mean(keras.ops.reshape(losses, (len(labels), -1)), axis=1)


def sgd(learning_rate):
    return lambda: keras.optimizers.SGD(learning_rate, momentum=0.9)


def adam():
    return keras.optimizers.Adam(1e-4)


WORKLOADS = {
    "efficientnet-b0": Workload(application(keras.applications.EfficientNetB0), 5_330_571, (224, 224, 3), 1000,
                                keras.optimizers.RMSprop),
    "gpt": Workload(gpt, 10_795_776, (256,), 65, adam, vocabulary=65, labels=(256,)),
    "minigooglenet": Workload(mini_googlenet, 1_656_250, (32, 32, 3), 10, sgd(5e-3)),
    "mlp": Workload(mlp, 41_157_101, (8000,), 2, adam),
    "mobilenet-v2": Workload(application(keras.applications.MobileNetV2), 3_538_984, (224, 224, 3), 1000,
                             keras.optimizers.RMSprop),
    "resnet50": Workload(application(keras.applications.ResNet50), 25_636_712, (224, 224, 3), 1000, sgd(0.1)),
    "siamese-lstm": Workload(siamese_lstm, 82_305, (140, 256), 2, keras.optimizers.RMSprop, inputs=2),
    "unet": Workload(unet, 31_049_474, (128, 128, 3), 2, adam, labels=(128, 128)),
    "vit": Workload(vit, 22_049_896, (224, 224, 3), 1000, adam),
    "xception": Workload(application(keras.applications.Xception), 22_910_480, (299, 299, 3), 1000,
                         keras.optimizers.RMSprop),
}
