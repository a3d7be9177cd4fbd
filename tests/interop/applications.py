"""The models of keras.applications. Keras' backend must be chosen before this file is imported."""

import inspect

import keras
import numpy as np

MODELS = dict(inspect.getmembers(keras.applications, inspect.isfunction))
CLASSES = 10
# The smallest images, where those of 32 x 32 pixels are too small, or let rounding errors grow as large as predictions.
SIZES = {"EfficientNetV2L": 64, "EfficientNetV2M": 64, "InceptionResNetV2": 75, "InceptionV3": 75, "Xception": 71}
assert len(MODELS) == 40
# The smallest models of the five smallest families. With --all, the scripts compare all models, which takes hours.
SMALLEST = ["MobileNetV3Small", "MobileNetV2", "MobileNet", "EfficientNetB0", "NASNetMobile"]


def made(name):
    """The model for the smallest images, with random weights."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(1)
    size = SIZES.get(name, 32)
    # Without a softmax, which would hide differences between probabilities near 0 and 1.
    model = MODELS[name](weights=None, input_shape=(size, size, 3), classes=CLASSES, classifier_activation=None)
    for variable in model.variables:  # initial zeros and ones would hide mixed-up weights
        if len(variable.shape) == 1:
            variable.assign(np.asarray(variable.value) + random.uniform(-0.25, 0.25, variable.shape))
    return model
