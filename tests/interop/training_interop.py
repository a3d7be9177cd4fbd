"""Compares lockstep with Keras on files of compiled models, in both directions.

Each resumes a training that the other began and saved, and must continue it as the other one does. The losses and
metrics of an output with a mask, a training with activity regularizers, one with a layer that adds to the loss, and one
with a train_step of the program's own must be Keras'.

usage: training_interop.py --driver FILES_DRIVER
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import zipfile

import keras_backend

keras_backend.choose("jax")

import h5py
import jax
import keras
import numpy as np
from custom_classes import HeavyBall, PowerError, PowerLoss
from keras import layers, optimizers
from keras.src.legacy.saving.legacy_h5_format import load_optimizer_weights_from_hdf5_group

STEPS = 3  # of an epoch
ROWS = 8  # of a batch
TOLERANCE = 1e-6  # of weights after an epoch, relative to the largest one if that exceeds 1

# files_driver.cpp has the same cases.
OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.125),
    "momentum": lambda: optimizers.SGD(0.125, momentum=0.75, nesterov=True, clipnorm=0.5),
    "schedule": lambda: optimizers.SGD(optimizers.schedules.ExponentialDecay(0.125, 2, 0.5), momentum=0.75, use_ema=True),
    "adam": lambda: optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75, amsgrad=True),
    "adamw": lambda: optimizers.AdamW(0.03125, weight_decay=0.25, beta_1=0.5, beta_2=0.75),
    "rmsprop": lambda: optimizers.RMSprop(0.03125, momentum=0.5, epsilon=1e-3, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.125, gradient_accumulation_steps=3),
    "lamb": lambda: optimizers.Lamb(0.03125, beta_1=0.5, beta_2=0.75),
    "lion": lambda: optimizers.Lion(0.03125, beta_1=0.5, beta_2=0.75),
    "nadam": lambda: optimizers.Nadam(0.03125, beta_1=0.5, beta_2=0.75),
    "muon": lambda: optimizers.Muon(
        0.03125, adam_beta_1=0.5, adam_beta_2=0.75, exclude_layers=["^end"], ns_steps=2, rms_rate=None
    ),
    "adamax": lambda: optimizers.Adamax(0.03125, beta_1=0.5, beta_2=0.75),
    "adafactor": lambda: optimizers.Adafactor(0.125, epsilon_2=0.25),
    "adadelta": lambda: optimizers.Adadelta(1.0, rho=0.75, epsilon=1e-3),
    "heavy_ball": lambda: HeavyBall(0.125, decay=0.75, clipnorm=0.5),
    "ftrl": lambda: optimizers.Ftrl(0.125, l1_regularization_strength=0.0625, beta=0.5),
}


def branches():
    """Nested models, and layers whose order differs from that of their calls."""
    input = keras.Input((6,), name="input")
    near = layers.Dense(5, name="near")(input)
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(4, activation="tanh"), layers.Dense(5)])
    frozen = layers.Dense(5, name="frozen")
    frozen.trainable = False
    return keras.Model(input, layers.Dense(2, name="end")(layers.Add()([near, inner(input), frozen(input)])))


def train(model, x, y):
    model.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0)
    if model.optimizer.use_ema:  # Keras' next fit fails if weights share memory with their averages
        model.set_weights([np.array(value) for value in model.get_weights()])


def open_compiled(path):
    """The file as Keras opens it. For a legacy file, Keras builds the optimizer for no variables, whatever program
    wrote the file, so this function sets the values."""
    model = keras.saving.load_model(path)
    if path.suffix == ".h5":
        model.compile(type(model.optimizer).from_config(model.optimizer.get_config()), model.loss)
        model.optimizer.build(model.trainable_variables)
        with h5py.File(path) as file:
            values = [np.asarray(value) for value in load_optimizer_weights_from_hdf5_group(file)]
        for variable, value in zip(model.optimizer.variables, values, strict=True):
            variable.assign(value)
    return model


def compare(ours, theirs, what):
    """The optimizer's state and the weights."""
    pairs = zip(ours.optimizer.variables + ours.weights, theirs.optimizer.variables + theirs.weights, strict=True)
    worst = 0
    for a, b in pairs:
        a, b = np.asarray(a.value), np.asarray(b.value)
        assert a.shape == b.shape
        if b.size:
            worst = max(worst, np.abs(a - b).max() / max(1, np.abs(b).max()))
    print(f"{what}: largest difference {worst:.1e}")
    assert worst <= TOLERANCE, worst


def flat_weights(model):
    """Sorts the weights, so that the order does not depend on nested models, which lockstep flattens."""
    return sorted((np.asarray(v.value) for v in model.weights), key=lambda value: (value.shape, value.tolist()))


def has(theirs, ours):
    """Whether all of lockstep's options agree with Keras'."""
    if isinstance(ours, dict):
        return all(key in theirs and has(theirs[key], value) for key, value in ours.items())
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(has, theirs, ours))
    return ours == theirs if isinstance(ours, (str, type(None))) else np.isclose(theirs, ours, rtol=1e-7)


def check_configs(path, model):
    """lockstep's configuration of optimizer, loss and metrics (their get_config) must be that of Keras' get_config.
    Keras' Huber omits its delta."""
    written = json.loads(zipfile.ZipFile(path).read("config.json"))["compile_config"]
    written["loss"]["config"].pop("delta", None)
    metrics = [metric for metric in written["metrics"] if isinstance(metric, dict)]
    theirs = [model.optimizer, model.loss, *map(keras.metrics.deserialize, metrics)]
    for ours, their in zip([written["optimizer"], written["loss"], *metrics], theirs, strict=True):
        config = json.loads(json.dumps(their.get_config()))
        assert has(config, ours["config"]), f"{ours['class_name']}: lockstep has {ours['config']}, Keras {config}"


def check_ours(lockstep, name, path, x, y):
    lockstep("start", name, path, path.parent)
    theirs = open_compiled(path)
    if path.suffix == ".keras":
        check_configs(path, theirs)
    assert theirs.optimizer.iterations == STEPS // (theirs.optimizer.gradient_accumulation_steps or 1)
    assert type(theirs.optimizer) is type(OPTIMIZERS[name]())
    assert theirs.loss.get_config()["name"] == ("power_loss" if name == "heavy_ball" else "huber_loss")
    began = [np.asarray(v.value) for v in theirs.weights]
    train(theirs, x, y)
    moved = max(np.abs(np.asarray(v.value) - old).max() for v, old in zip(theirs.weights, began))
    assert moved > 1e3 * TOLERANCE, "an epoch hardly changes anything: it proves nothing"
    lockstep("train_on", path, path.parent)
    compare(open_compiled(path), theirs, f"{name}{path.suffix}, begun by lockstep")


def check_theirs(lockstep, name, path, x, y):
    theirs = branches()
    measures = [keras.metrics.MeanSquaredError(), keras.metrics.R2Score(), keras.metrics.F1Score("macro"), PowerError(1.5)]
    loss = PowerLoss(3.0) if name == "heavy_ball" else "mse"
    theirs.compile(OPTIMIZERS[name](), loss, metrics=["mae", "cosine_similarity", "binary_io_u", *measures])
    train(theirs, x, y)
    theirs.save(path)
    train(theirs, x, y)
    lockstep("train_on", path, path.parent)
    ours = open_compiled(path)
    worst = max(np.abs(a - b).max() for a, b in zip(flat_weights(ours), flat_weights(theirs), strict=True))
    print(f"{name}{path.suffix}, begun by Keras: largest difference {worst:.1e}")
    assert worst <= TOLERANCE, worst
    train(theirs, x, y)
    train(ours, x, y)
    worst = max(np.abs(a - b).max() for a, b in zip(flat_weights(ours), flat_weights(theirs), strict=True))
    print(f"{name}{path.suffix}, begun by Keras, continued by lockstep and Keras: largest difference {worst:.1e}")
    assert worst <= 2 * TOLERANCE, worst


def check_fine_tuning(lockstep, path, x, y):
    """An epoch with a frozen base, as the file says, and one with the base thawed but for its batch normalization."""
    input = keras.Input((6,))
    norm = layers.BatchNormalization(name="norm")
    base = keras.Model(input, norm(layers.Dense(5, activation="tanh", name="hidden")(input)), name="base")
    random = np.random.default_rng(2)
    norm.set_weights([random.uniform(0.5, 1.5, value.shape) for value in norm.get_weights()])
    outer = keras.Input((6,))
    theirs = keras.Model(outer, layers.Dense(2, name="head")(base(outer)))
    base.trainable = False
    theirs.compile(optimizers.SGD(0.125, momentum=0.75), "mse")
    theirs.save(path)
    losses = [float(line) for line in lockstep("fine_tune", path, path.parent).splitlines()]
    ours = keras.saving.load_model(path, compile=False)
    for loss in losses:
        began = [np.array(value) for value in theirs.get_weights()]
        their_loss = theirs.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0).history["loss"][0]
        print(f"fine-tuning{path.suffix}: lockstep's loss {loss:.7f}, Keras' {their_loss:.7f}")
        assert abs(loss - their_loss) <= 1e-5
        changed = [not np.array_equal(old, new) for old, new in zip(began, theirs.get_weights(), strict=True)]
        assert changed == [base.trainable] * 2 + [False] * 4 + [True] * 2, changed
        base.trainable, norm.trainable = True, False
        theirs.compile(optimizers.SGD(0.0625, momentum=0.75), "mse")
    worst = max(np.abs(a - b).max() for a, b in zip(flat_weights(ours), flat_weights(theirs), strict=True))
    print(f"fine-tuning{path.suffix}: largest difference {worst:.1e}")
    assert worst <= TOLERANCE, worst
    assert not ours.get_layer("base").get_layer("norm").trainable
    assert ours.get_layer("base").get_layer("hidden").trainable


def check_masked(lockstep, folder):
    """Loss and metrics, with and without weights, of an output with a mask; the last batch is smaller."""
    ids = keras.Input((7,))
    x = layers.LSTM(5, return_sequences=True)(layers.Embedding(9, 4, mask_zero=True)(ids))
    model = keras.Model(ids, layers.Dense(3, activation="softmax")(x))
    measures = [["accuracy", keras.metrics.TopKCategoricalAccuracy(2), keras.metrics.CategoricalCrossentropy(),
                 keras.metrics.MeanSquaredError(), keras.metrics.RootMeanSquaredError(), keras.metrics.AUC()]
                for _ in range(2)]
    model.compile("sgd", "categorical_crossentropy", metrics=measures[0], weighted_metrics=measures[1])
    random = np.random.default_rng(1)
    words = random.integers(0, 9, (20, 7)).astype("<f4")
    target = np.eye(3)[random.integers(0, 3, (20, 7))].astype("<f4")
    weights = random.uniform(0.5, 2, (20, 1)).astype("<f4")
    for name, values in {"input_0": words, "target": target, "weights": weights}.items():
        values.tofile(folder / name)
    theirs = model.evaluate(words, target, sample_weight=weights, batch_size=ROWS, return_dict=True, verbose=0)
    model.save(folder / "masked.keras")
    ours = dict(line.split() for line in lockstep("evaluate", folder / "masked.keras", folder).splitlines())
    assert ours.keys() == theirs.keys(), (ours, theirs)
    for name, value in theirs.items():
        print(f"masked {name}: lockstep {float(ours[name]):.7f}, Keras {value:.7f}")
        assert abs(float(ours[name]) - value) <= 1e-5, name


class Divergence(layers.Layer):
    """Returns its input, and adds the KL term of a VAE to the loss."""

    def call(self, x):
        mu, log_variance = keras.ops.split(x, 2, axis=-1)
        terms = mu**2 + keras.ops.exp(log_variance) - log_variance - 1
        self.add_loss(0.5 * keras.ops.mean(keras.ops.sum(terms, axis=-1)))
        return x


def check_added_loss(lockstep, folder):
    """An epoch whose last batch has fewer rows than the others and gives one of lockstep's replicas none."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((6,)), layers.Dense(4), Divergence(), layers.Dense(2)])
    model.compile(optimizers.SGD(0.125), "mse")
    path = folder / "added.weights.h5"
    model.save_weights(path)
    random = np.random.default_rng(3)
    x, y = (random.standard_normal((2 * ROWS + 2, size)).astype("<f4") for size in (6, 2))
    x.tofile(folder / "input_0")
    y.tofile(folder / "target")
    theirs = [model.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0).history["loss"][0],
              model.evaluate(x, y, batch_size=ROWS, verbose=0)]
    ours = [float(line) for line in lockstep("added_loss", path, folder).splitlines()]
    for our_loss, their_loss in zip(ours, theirs, strict=True):
        print(f"add_loss: lockstep's loss {our_loss:.7f}, Keras' {their_loss:.7f}")
        assert abs(our_loss - their_loss) <= 1e-5 * max(1, their_loss)
    trained = model.get_weights()
    model.load_weights(path)
    worst = max(np.abs(a - b).max() for a, b in zip(model.get_weights(), trained, strict=True))
    print(f"add_loss: largest difference {worst:.1e}")
    assert worst <= TOLERANCE, worst


def check_activity_regularizers(lockstep, path, x, y, loss):
    """Penalties of results, also of layers inside layers; TimeDistributed ignores its layer's, but not those inside it.
    `loss`: besides them."""
    input = keras.Input((6,))
    z = layers.Dense(12, activation="tanh", activity_regularizer=keras.regularizers.L1L2(0.01, 0.02))(input)
    z = layers.Conv1D(4, 2, activity_regularizer="l2")(layers.Reshape((4, 3))(z))
    z = layers.Bidirectional(layers.GRU(2, return_sequences=True, activity_regularizer=keras.regularizers.L1(0.02)))(z)
    inner = layers.Bidirectional(layers.GRU(2, activity_regularizer=keras.regularizers.L1L2(0.02, 0.05)))
    z = layers.TimeDistributed(inner)(layers.Reshape((3, 2, 2))(z))
    z = layers.MultiHeadAttention(2, 3, use_gate=True, activity_regularizer=keras.regularizers.L2(0.01))(z, z)
    z, scores = layers.GroupQueryAttention(3, 4, 2, activity_regularizer=keras.regularizers.L2(0.02))(
        z, z, return_attention_scores=True)
    z = layers.AdditiveAttention(activity_regularizer=keras.regularizers.L2(0.05))([z, z])
    z = layers.Concatenate()([z, layers.Reshape((3, 12))(scores)])
    z = layers.TimeDistributed(layers.Dense(3, activity_regularizer=keras.regularizers.L2(0.5)))(z)
    z, *_ = layers.LSTM(3, return_state=True, activity_regularizer=keras.regularizers.L2(0.05))(z)
    theirs = keras.Model(input, layers.Dense(2)(layers.ActivityRegularization(l1=0.01, l2=0.02)(z)))
    theirs.compile(optimizers.SGD(0.125), loss)
    theirs.save(path)
    their_loss = theirs.fit(x, y, batch_size=ROWS, shuffle=False, verbose=0).history["loss"][0]
    our_loss = float(lockstep("train_on", path, path.parent))
    print(f"activity_regularizer, loss {loss}, {path.suffix}: lockstep's loss {our_loss:.7f}, Keras' {their_loss:.7f}")
    assert abs(our_loss - their_loss) <= 1e-5
    ours = open_compiled(path)
    compare(ours, theirs, f"activity_regularizer, loss {loss}, {path.suffix}")
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        assert has(their_layer.get_config().get("activity_regularizer"), our_layer.get_config().get("activity_regularizer"))


class Distilled(keras.Model):
    """Its train_step distills another model, which `wanted` calls, and logs the norm of the gradient."""

    def train_step(self, state, data):
        trainable, others, of_optimizer, of_metrics = state
        wanted = self.wanted(data[0])

        def loss_of(trainable):
            y, updated = self.stateless_call(trainable, others, data[0], training=True)
            return keras.ops.mean((wanted - y) ** 2), updated

        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(trainable)
        norm = keras.ops.sqrt(sum(keras.ops.sum(gradient**2) for gradient in gradients))
        trainable, of_optimizer = self.optimizer.stateless_apply(of_optimizer, gradients, trainable)
        return {"loss": loss, "gradient_norm": norm}, (trainable, others, of_optimizer, of_metrics)


def check_train_step(lockstep, folder):
    """Steps of a program's own, on batches that three replicas share unevenly."""

    def network(kind, hidden):
        x = keras.Input((6,))
        return kind(x, layers.Dense(2)(layers.Dense(hidden, activation="tanh")(x)))

    student, teacher = network(Distilled, 4), network(keras.Model, 8)
    student.wanted = lambda x: teacher(x)  # a function, because files would hold a model
    paths = [folder / "student.weights.h5", folder / "teacher.weights.h5"]
    for model, path in zip((student, teacher), paths, strict=True):
        model.save_weights(path)
    x = np.random.default_rng(4).standard_normal((2 * ROWS, 6)).astype("<f4")
    x.tofile(folder / "input_0")
    student.compile(optimizers.Adam(0.03125, beta_1=0.5, beta_2=0.75))
    theirs = student.fit(x, np.zeros((len(x), 2)), batch_size=len(x), epochs=8, shuffle=False, verbose=0).history
    ours = np.array(lockstep("train_step", *paths, folder).split(), float).reshape(-1, 2)
    for name, values in zip(("loss", "gradient_norm"), ours.T, strict=True):
        worst = np.abs(values - theirs[name]).max()
        print(f"train_step, {name}: from {values[0]:.5f} to {values[-1]:.5f}, largest difference {worst:.1e}")
        assert values[-1] < 0.9 * values[0] and worst <= 1e-5 * max(1, max(theirs[name])), (values, theirs[name])
    trained = student.get_weights()
    student.load_weights(paths[0])
    worst = max(np.abs(a - b).max() for a, b in zip(student.get_weights(), trained, strict=True))
    print(f"train_step: largest difference of weights {worst:.1e}")
    assert worst <= 10 * TOLERANCE, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver", required=True)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(1)
    x = random.standard_normal((STEPS * ROWS, 6)).astype("<f4")
    y = random.standard_normal((STEPS * ROWS, 2)).astype("<f4")

    def lockstep(*words):
        return subprocess.run([arguments.driver, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        x.tofile(pathlib.Path(folder) / "input_0")
        y.tofile(pathlib.Path(folder) / "target")
        for suffix in (".keras", ".h5"):
            for name in OPTIMIZERS:
                if name == "lamb" and suffix == ".h5":
                    continue  # Keras cannot open its own file
                check_ours(lockstep, name, pathlib.Path(folder) / f"ours{suffix}", x, y)
                if name != "adafactor" or suffix == ".keras":  # Keras gives two variables of its .h5 file one name
                    check_theirs(lockstep, name, pathlib.Path(folder) / f"theirs{suffix}", x, y)
            check_fine_tuning(lockstep, pathlib.Path(folder) / f"tuned{suffix}", x, y)
            for loss in ("mse", None):
                check_activity_regularizers(lockstep, pathlib.Path(folder) / f"penalized{suffix}", x, y, loss)
        check_masked(lockstep, pathlib.Path(folder))
        check_added_loss(lockstep, pathlib.Path(folder))
        check_train_step(lockstep, pathlib.Path(folder))


if __name__ == "__main__":
    main()
