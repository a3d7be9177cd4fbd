"""Compares the models that the programs of tools/examples/ have trained and saved with the same files opened by Keras.

usage: examples_interop.py --driver FILES_DRIVER FOLDER
FOLDER is the working directory of the programs.
"""

import argparse
import pathlib
import tempfile

import files_interop  # first: it chooses Keras' backend
import keras

# The files' names, with the shapes of the models' inputs; 12 stands for an unknown size.
MODELS = {
    "bidirectional_lstm": [(12,)],
    "encoder": [(28, 28, 1)],
    "forecaster": [(48, 5)],
    "generator": [(32,)],
    "vae_decoder": [(8,)],
    "vae_encoder": [(28, 28, 1)],
}
files_interop.OF_IDS.add("bidirectional_lstm")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    for name, shapes in MODELS.items():
        print(f"== {name}", flush=True)
        path = arguments.folder / f"{name}.keras"
        with tempfile.TemporaryDirectory() as folder:
            files = files_interop.Files(arguments.driver, name, folder)
            files.write_inputs(shapes)
            files.lockstep("open", path, files.folder)
            files.check_predictions(keras.saving.load_model(path), "saved by the example, opened by Keras and lockstep")
        files_interop.check_config(path)


if __name__ == "__main__":
    main()
