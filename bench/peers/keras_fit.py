#!/usr/bin/env python3
"""Trains MiniGoogLeNet on Fashion-MNIST with Keras' fit for one step and reports when that step was done.

The peer of `lockstep train --steps-per-epoch 1`, written as a Keras user would: images in memory as bytes, resized to
32x32x3 in the model. Messages go to stderr; with --json the last line of stdout is one JSON object.
"""

import argparse
import gzip
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import peer
from tensorflow_models import mini_googlenet


def idx(path, header):
    """The bytes of an IDX file after its header."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def model_of_bytes():
    images = keras.Input((28, 28, 1))
    x = layers.ZeroPadding2D(2)(layers.Rescaling(1 / 255, offset=-0.29)(images))
    return keras.Model(images, mini_googlenet()(layers.concatenate([x, x, x])))


class FirstStep(keras.callbacks.Callback):
    done_s = None

    def on_train_batch_end(self, batch, logs=None):
        self.done_s = self.done_s or peer.now_s()


def measure(folder, batch_size):
    start_s = peer.process_start_s()
    images = idx(folder / "train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    labels = idx(folder / "train-labels-idx1-ubyte.gz", 8)
    keras.utils.set_random_seed(peer.SEED)
    model = model_of_bytes()
    model.compile(keras.optimizers.SGD(5e-3, momentum=0.9),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    first = FirstStep()
    model.fit(images, labels, batch_size=batch_size, epochs=1, steps_per_epoch=1, verbose=0, callbacks=[first])
    return {"peer": "keras-fit", "version": tf.__version__, "examples": len(images), "global_batch": batch_size,
            "time_to_first_step_s": first.done_s - start_s}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="folder with the data set's four files")
    parser.add_argument("--batch-size", type=int, default=128, help="batch size (default 128)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    args = parser.parse_args()
    report = measure(args.folder, args.batch_size)
    print(f"first step after {report['time_to_first_step_s']:.1f} s", file=sys.stderr)
    if args.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
