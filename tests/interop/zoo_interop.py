"""Keras' versions of the zoo's models, compared like the models of keras_interop.py.

usage: zoo_interop.py --driver INTEROP_DRIVER [CASE ...]
"""

import keras_interop  # first: it chooses Keras' backend
import keras
from keras import layers


def siamese_lstm():
    sequences = [keras.Input((140, 256)), keras.Input((140, 256))]
    shared = layers.LSTM(64)
    merged = layers.concatenate([shared(sequence) for sequence in sequences])
    return keras.Model(sequences, layers.Dense(1, activation="sigmoid")(merged))


def application(make, size):
    return make(weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)


def resnet50():
    return application(keras.applications.ResNet50, 64)


def xception():
    return application(keras.applications.Xception, 71)


MODELS = {"siamese_lstm": siamese_lstm, "ResNet50:64": resnet50, "Xception:71": xception}
keras_interop.DEEP_MODELS.update({"ResNet50:64", "Xception:71"})

if __name__ == "__main__":
    keras_interop.main(MODELS)
