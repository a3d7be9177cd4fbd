"""Compares the zoo's models with Keras': the siamese LSTM, ResNet50 and Xception like the models of keras_interop.py;
of the models of keras.applications the number of parameters and the configuration, layer by layer.

usage: zoo_interop.py --driver INTEROP_DRIVER [--all | CASE ...]
"""

import argparse
import functools
import inspect
import itertools
import json
import re
import subprocess

import keras_interop  # first: it chooses Keras' backend
import keras
from keras import layers
from keras.src.backend.common.stateless_scope import StatelessScope

APPLICATIONS = dict(inspect.getmembers(keras.applications, inspect.isfunction))
# One model of each family. --all compares all models, and these, except those of ONLY_WITH_TOP, with each pooling.
FAMILIES = [
    "ConvNeXtTiny",
    "DenseNet121",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "NASNetMobile",
    "ResNet50",
    "ResNet50V2",
    "VGG16",
    "Xception",
]
# Keras takes minutes to make these models for images of any size: it runs their own layers to find the shapes.
ONLY_WITH_TOP = {"ConvNeXtTiny", "InceptionResNetV2"}
# Quickly made models, which are compared without their top in every run.
SHALLOW = {"MobileNet", "MobileNetV2", "ResNet50", "VGG16", "Xception"}


def siamese_lstm():
    sequences = [keras.Input((140, 256)), keras.Input((140, 256))]
    shared = layers.LSTM(64)
    merged = layers.concatenate([shared(sequence) for sequence in sequences])
    return keras.Model(sequences, layers.Dense(1, activation="sigmoid")(merged))


def application(name, size):
    return APPLICATIONS[name](weights=None, input_shape=(size, size, 3), classes=10, classifier_activation=None)


MODELS = {"siamese_lstm": siamese_lstm}
for case in ("ResNet50:64", "Xception:71"):
    name, size = case.split(":")
    MODELS[case] = functools.partial(application, name, int(size))
    keras_interop.DEEP_MODELS.add(case)


def keras_model(name, **options):
    """Keras' model, made without values of its variables."""
    keras.utils.clear_session()
    with StatelessScope(initialize_variables=False):
        return APPLICATIONS[name](weights=None, **options)


def comparable(layer):
    """A layer's configuration in a form in which equal layers have equal values. Adds the defaults that lockstep leaves
    out, counts axes from the end, and drops arguments that are None or False, the shapes for which Keras builds layers,
    and the input layers of models inside the model, whose names Keras numbers."""
    layer = without_build_config(layer)
    with StatelessScope(initialize_variables=False):
        made = keras.saving.deserialize_keras_object({**layer, "inbound_nodes": []})
    config = without_build_config(keras.saving.serialize_keras_object(made)["config"])
    if layer["class_name"] == "Sequential":
        config["layers"] = [each for each in config["layers"] if each["class_name"] != "InputLayer"]
    if "axis" in config:
        shape = re.search(r'"shape": \[(.*?)\]', json.dumps(layer["inbound_nodes"])).group(1)
        axes = config["axis"] if isinstance(config["axis"], (list, tuple)) else [config["axis"]]
        config["axis"] = [axis if axis < 0 else axis - len(shape.split(",")) for axis in axes]
    calls = [
        {**call, "kwargs": {key: value for key, value in call["kwargs"].items() if value is not None and value is not False}}
        for call in layer["inbound_nodes"]
    ]
    return {**layer, "config": config, "inbound_nodes": calls}


def without_build_config(value):
    if isinstance(value, dict):
        return {k: without_build_config(v) for k, v in value.items() if k not in ("build_config", "compile_config")}
    return [without_build_config(each) for each in value] if isinstance(value, (list, tuple)) else value


def differences(ours, theirs, path="model"):
    """The places where two configurations differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys():
            yield from differences(ours.get(key, "missing"), theirs.get(key, "missing"), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (one, other) in enumerate(zip(ours, theirs)):
            here = one.get("name", i) if isinstance(one, dict) else i
            yield from differences(one, other, f"{path}[{here}]")
    elif ours != theirs:
        yield f"{path}: {str(ours)[:200]}, in Keras {str(theirs)[:200]}"


def check_config(driver, case, name, **options):
    output = subprocess.run([driver, "config", case], check=True, capture_output=True, text=True).stdout
    parameters, config = output.split("\n", 1)
    model = keras_model(name, **options)
    sides = [json.loads(config)["config"], json.loads(json.dumps(model.get_config()))]
    ours, theirs = ({**side, "layers": [comparable(layer) for layer in side["layers"]]} for side in sides)
    different = list(itertools.islice(differences(ours, theirs), 10))
    assert not different, f"{case} differs:\n" + "\n".join(different)
    assert int(parameters) == model.count_params(), f"{case} has {parameters} parameters, not {model.count_params()}"
    print(f"{case}: {parameters} parameters, {len(theirs['layers'])} layers, as in Keras", flush=True)


def poolings(name, every):
    """The values of `pooling` with which the model is compared without its top."""
    if name not in FAMILIES or name in ONLY_WITH_TOP:
        return []
    return [None, "avg", "max"] if every else ["avg"] if name in SHALLOW else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--all", action="store_true", help="compare all models, with each pooling")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join([*MODELS, *APPLICATIONS])}")
    arguments = parser.parse_args()
    for case in arguments.cases or [*MODELS, *(APPLICATIONS if arguments.all else FAMILIES)]:
        if case in MODELS:
            keras_interop.check(arguments.driver, case, MODELS[case])
            continue
        check_config(arguments.driver, case, case)
        for pooling in poolings(case, arguments.all):
            variant = f"{case}:{str(pooling).lower()}"
            check_config(arguments.driver, variant, case, include_top=False, pooling=pooling)


if __name__ == "__main__":
    main()
