"""Compares the models that the programs of tools/examples/ have trained and saved with the same files opened by Keras, and
with those files saved again by Keras and by lockstep.

usage: examples_interop.py --driver FILES_DRIVER FOLDER
FOLDER is the working directory of the programs.
"""

import argparse
import pathlib
import tempfile

import example_models
import files_interop  # before Keras: it chooses Keras' backend
import keras

files_interop.OF_IDS.update(example_models.OF_IDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    for name, shapes in example_models.SHAPES.items():
        print(f"== {name}", flush=True)
        path = arguments.folder / f"{name}.keras"
        with tempfile.TemporaryDirectory() as folder:
            files = files_interop.Files(arguments.driver, name, folder)
            files.write_inputs([example_models.sized(shape) for shape in shapes])
            files.lockstep("open", path, files.folder)
            model = keras.saving.load_model(path)
            files.check_predictions(model, "saved by the example, opened by Keras and lockstep")
            again = files.folder / "again.keras"
            model.save(again)
            files.lockstep("open", again, files.folder)
            files.check_predictions(model, "saved again by Keras, opened by lockstep")
            files.lockstep("again", again, "1")
            files.check_predictions(keras.saving.load_model(again), "saved again by lockstep, opened by Keras")
        files_interop.check_config(path)


if __name__ == "__main__":
    main()
