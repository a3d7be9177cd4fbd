"""Makes the files in this folder with Keras 2; see README.md there.

usage: make_files.py FOLDER
"""

import pathlib
import sys

import h5py
import numpy as np
import tensorflow as tf

ROWS = 12
numbers = np.random.RandomState(1)
folder = pathlib.Path(sys.argv[1])


def keep(file, values):
    """Adds the expected results of a model to its file, in a group that Keras ignores."""
    with h5py.File(folder / file, "a") as added:
        for name, value in values.items():
            added[f"expected/{name}"] = np.asarray(value, "f4")


def numbered(name, values):
    return {f"{name}_{number}": value for number, value in enumerate(values)}


def randomize(model):
    """Changes the weights, so that none has its initial value."""
    model.set_weights([value + numbers.uniform(0.1, 0.3, value.shape) for value in model.get_weights()])


def draw(*shape):
    return numbers.standard_normal((ROWS, *shape)).astype("f4")


def pictures_model(keras):
    """Two inputs, two results, and a layer that does not train."""
    layers = keras.layers
    pictures, notes = keras.Input((6, 6, 2), name="pictures"), keras.Input((3,), name="notes")
    x = layers.Conv2D(3, 3, activation="relu", name="frozen", trainable=False)(pictures)
    x = layers.Conv2D(4, 2, use_bias=False, name="conv")(layers.BatchNormalization(name="norm")(x))
    x = layers.Concatenate(name="joined")([layers.Flatten(name="flat")(layers.MaxPooling2D(name="pool")(x)), notes])
    classes = layers.Dense(4, activation="softmax", name="classes")(layers.Dropout(0.5, name="drop")(x))
    return keras.Model([pictures, notes], [classes, layers.Dense(1, name="score")(x)], name="template")


def make_parallel(keras):
    from keras.utils import multi_gpu_utils

    # There are no GPUs here. Keras only checks their names; TensorFlow places their ops on the CPU.
    multi_gpu_utils._get_available_devices = lambda: ["/cpu:0", "/gpu:0", "/gpu:1"]
    multi_gpu_model = multi_gpu_utils.multi_gpu_model
    template = pictures_model(keras)
    randomize(template)
    inputs, targets = [draw(6, 6, 2), draw(3)], [np.eye(4)[numbers.randint(0, 4, ROWS)], draw(1)]
    parallel = multi_gpu_model(template, gpus=2)
    parallel.compile(keras.optimizers.Adam(0.01), ["categorical_crossentropy", "mse"], metrics=["accuracy"])
    parallel.fit(inputs, targets, batch_size=4, epochs=1, verbose=0)
    parallel.save(folder / "parallel.h5")
    parallel.save_weights(folder / "parallel_weights.h5")
    multi_gpu_model(parallel, gpus=2).save(folder / "parallel_twice.h5")
    weights = {f"{layer.name}_{number}": value for layer in template.layers
               for number, value in enumerate(layer.get_weights())}
    values = {**numbered("input", inputs), **numbered("output", template.predict(inputs)), **weights}
    keep("parallel.h5", values)


def make_recurrent(keras):
    """Keras 2's recurrent layers with the defaults until version 2.2, and with other options."""
    layers = keras.layers
    words = keras.Input((7, 5), name="words")
    old = dict(recurrent_activation="hard_sigmoid")
    x = layers.LSTM(4, return_sequences=True, name="lstm", **old)(words)
    x = layers.GRU(4, return_sequences=True, name="gru", reset_after=False, **old)(x)
    x = layers.GRU(3, return_sequences=True, name="sigmoid_gru", reset_after=False)(x)
    x = layers.GRU(3, return_sequences=True, name="plain_gru", use_bias=False, activation="relu")(x)
    x = layers.LSTM(3, return_sequences=True, name="plain_lstm", use_bias=False, activation="softsign", **old)(x)
    x = layers.GRU(3, name="after", reset_after=True, go_backwards=True, **old)(x)
    model = keras.Model(words, layers.Dense(2, activation="hard_sigmoid", name="end")(x), name="recurrent")
    randomize(model)
    x = draw(7, 5)
    model.save(folder / "recurrent.h5")
    keep("recurrent.h5", {"input_0": x, "output_0": model.predict(x)})


def make_trained(keras, name, optimizer):
    """A compiled model after one epoch, and its losses and weights after another."""
    layers = [keras.layers.Dense(5, activation="tanh", input_shape=(6,), name="first"),
              keras.layers.Dense(2, name="second")]
    model = keras.Sequential(layers, name=name)
    randomize(model)
    model.compile(optimizer, "mse", metrics=["mae"])
    x, y = draw(6), draw(2)
    model.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
    model.save(str(folder / f"{name}.h5"))
    loss = model.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0).history["loss"]
    keep(f"{name}.h5", {"input_0": x, "target": y, "loss": loss, **numbered("after", model.get_weights())})


def of_keras_2():
    import keras

    tf.compat.v1.set_random_seed(1)
    make_parallel(keras)
    make_recurrent(keras)
    optimizers = keras.optimizers
    make_trained(keras, "sgd", optimizers.SGD(0.125, momentum=0.75, nesterov=True, decay=0.25))
    make_trained(keras, "adam", optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75, clipnorm=0.5))
    make_trained(keras, "rmsprop", optimizers.RMSprop(0.03125))
    optimizers = tf.keras.optimizers
    make_trained(tf.keras, "tf_adam", optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75, amsgrad=True))
    make_trained(tf.keras, "tf_rmsprop", optimizers.RMSprop(0.03125, momentum=0.5, centered=True))


def of_tensorflow_2_11():
    import tf_keras

    optimizers = tf_keras.optimizers
    make_trained(tf_keras, "tf2_adam", optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75, amsgrad=True))
    make_trained(tf_keras, "tf2_sgd", optimizers.SGD(0.125, momentum=0.75))


def of_tensorflow_2_15():
    """Calls in inference in a model that trains, and two outputs, in both formats."""
    import keras

    layers = keras.layers
    x = keras.Input((4,), name="x")
    inner = keras.Sequential([keras.Input((4,)), layers.BatchNormalization(name="inner_norm"),
                              layers.Dense(3, activation="tanh", name="inner_dense")], name="inner")
    h = inner(layers.BatchNormalization(name="norm")(x, training=False), training=False)
    model = keras.Model(x, [layers.Dense(2, name="foo")(h), layers.Dense(1, name="bar")(h)], name="calls")
    randomize(model)
    model.compile(keras.optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75), "mse",
                  metrics={"foo": ["mae"], "bar": [keras.metrics.MeanSquaredError()]})
    rows, targets = draw(4), [draw(2), draw(1)]
    model.fit(rows, targets, batch_size=4, epochs=1, shuffle=False, verbose=0)
    for name in ["tf_2_15.h5", "tf_2_15.keras"]:
        model.save(folder / name)
    loss = model.fit(rows, targets, batch_size=4, epochs=1, shuffle=False, verbose=0).history["loss"]
    values = {"input_0": rows, **numbered("target", targets), "loss": loss, **numbered("after", model.get_weights())}
    keep("tf_2_15.h5", values)


if tf.__version__.startswith("1."):
    of_keras_2()
elif tf.__version__.startswith("2.15."):
    of_tensorflow_2_15()
else:
    of_tensorflow_2_11()
