"""The models of the zoo in Keras' words, compared as keras_interop.py compares its models.

usage: zoo_interop.py --driver INTEROP_DRIVER CASE
"""

import keras_interop  # first: it chooses Keras' backend
import keras
from keras import layers


def siamese_lstm():
    sequences = [keras.Input((140, 256)), keras.Input((140, 256))]
    shared = layers.LSTM(64)
    merged = layers.concatenate([shared(sequence) for sequence in sequences])
    return keras.Model(sequences, layers.Dense(1, activation="sigmoid")(merged))


keras_interop.MODELS.update(siamese_lstm=siamese_lstm)

if __name__ == "__main__":
    keras_interop.main()
