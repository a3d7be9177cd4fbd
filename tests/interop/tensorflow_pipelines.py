"""Runs the pipelines of tf_data_interop.py in TensorFlow, and makes random ones."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import contextlib
import itertools
import pathlib
import random
import tempfile

import numpy as np
import tensorflow as tf

Data = tf.data.Dataset
ERRORS = (tf.errors.OpError, ValueError, TypeError)


def version():
    return f"TensorFlow {tf.__version__}"


MAPS = {
    "times_ten": lambda *element: tf.nest.map_structure(lambda x: 10 * x, element if len(element) > 1 else element[0]),
    "fill": lambda x: tf.fill([x], x),
    "fill_rows": lambda x: tf.fill([x % 3, x], x),
}
PREDICATES = {
    "even": lambda *element: tf.reduce_sum(tf.nest.flatten(element)[0]) % 2 == 0,
    "all": lambda *_: True,
    "none": lambda *_: False,
}


class Builder:
    """Makes tf.data's data sets of pipelines."""

    def __init__(self, folder):
        self._cache_files = (pathlib.Path(folder) / str(number) for number in itertools.count())

    def dataset(self, pipeline, element=None):
        """`element`: that of the input of a stage whose argument this pipeline is."""
        (source, arguments), *stages = pipeline
        data = self._source(source, arguments, element)
        for name, arguments in stages:
            stage = getattr(self, f"_{name}", None)
            data = stage(data, **arguments) if stage else getattr(data, name)(**arguments)
        return data

    def _source(self, name, arguments, element):
        if name in ("zip", "sample_from_datasets"):
            return getattr(Data, name)(
                **{**arguments, "datasets": tuple(self.dataset(one, element) for one in arguments["datasets"])},
                **({"seed": 0} if name == "sample_from_datasets" else {}),
            )
        if name == "range":
            return Data.range(arguments["stop"])
        if name == "from_tensor_slices":
            return Data.from_tensor_slices(np.array(arguments["tensors"], np.int64))
        if name == "from_generator":
            signature = tf.TensorSpec((), tf.int64)
            return Data.from_generator(lambda: iter(range(arguments["stop"])), output_signature=signature)
        if name == "times":
            return Data.from_tensors(element).repeat(element)
        assert name == "slices", name
        return Data.from_tensor_slices(element)

    def _map(self, data, map_func):
        return data.map(MAPS[map_func])

    def _filter(self, data, predicate):
        return data.filter(PREDICATES[predicate])

    def _concatenate(self, data, dataset):
        return data.concatenate(self.dataset(dataset))

    def _flat_map(self, data, map_func):
        return data.flat_map(lambda *element: self.dataset(map_func, tf.nest.flatten(element)[0]))

    def _interleave(self, data, map_func, **lengths):
        return data.interleave(lambda *element: self.dataset(map_func, tf.nest.flatten(element)[0]), **lengths)

    def _cache(self, data, file=False):
        return data.cache(str(next(self._cache_files))) if file else data.cache()

    def _shuffle(self, data, buffer_size):
        return data.shuffle(buffer_size, seed=0)

    def _window(self, data, size, **options):
        def batched(*parts):
            return Data.zip(parts if len(parts) > 1 else parts[0]).batch(size).get_single_element()

        return data.window(size, **options).map(batched)

    def _padded_batch(self, data, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False):
        def structured(values):
            if values is None:
                return None
            return tuple(values) if isinstance(data.element_spec, tuple) else values[0]

        if padding_values is not None:
            padding_values = [tf.constant(value, tf.int64) for value in padding_values]
        return data.padded_batch(batch_size, structured(padded_shapes), structured(padding_values), drop_remainder)


def run(pipeline, count):
    """The cardinality and the first `count` elements, each a list of its tensors' values; "error" where it fails."""
    result = {"cardinality": "error"}
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(*ERRORS):
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False  # fused stages fail in more cases
        data = Builder(folder).dataset(pipeline).with_options(options)
        cardinality = int(data.cardinality())
        names = {tf.data.UNKNOWN_CARDINALITY: "unknown", tf.data.INFINITE_CARDINALITY: "infinite"}
        result = {"cardinality": names.get(cardinality, cardinality), "elements": "error"}
        result["elements"] = [
            [np.asarray(tensor).tolist() for tensor in tf.nest.flatten(element)]
            for element in itertools.islice(data.as_numpy_iterator(), count)
        ]
    return result


class RandomPipeline:
    """Random pipelines without errors.

    The kinds of elements: "scalar"; "rows" and "uneven rows" of scalars, which have or need not have one shape; "many"
    and "uneven" elements of more axes; "mixed" in a zip.
    """

    def __init__(self, seed):
        self._draws = random.Random(seed)

    def pipeline(self, depth=0):
        """The stages, the kind of the elements, their number of tensors, and whether they are endless."""
        stages, kind, tensors, endless = self._source(depth)
        for _ in range(self._number(0, max(1, 5 - 2 * depth))):
            stage, kind, endless = self._stage(kind, tensors, endless, depth)
            stages.append(stage)
        return stages, kind, tensors, endless

    def _number(self, low, high):
        return self._draws.randint(low, high)

    def _flag(self):
        return self._draws.random() < 0.5

    def _source(self, depth):
        if depth < 2 and self._number(1, 5) == 1:
            parts = [self.pipeline(depth + 1) for _ in range(self._number(1, 3))]
            kinds = {kind for _, kind, _, _ in parts}
            return (
                [["zip", {"datasets": [stages for stages, _, _, _ in parts]}]],
                kinds.pop() if len(kinds) == 1 else "mixed",
                sum(tensors for _, _, tensors, _ in parts),
                all(endless for _, _, _, endless in parts),
            )
        if self._number(1, 4) == 1:
            return [["from_generator", {"stop": self._number(0, 9)}]], "scalar", 1, False
        if self._number(1, 5) == 1:
            rows = [[10 * row, 10 * row + 1] for row in range(self._number(1, 6))]
            return [["from_tensor_slices", {"tensors": rows}]], "rows", 1, False
        return [["range", {"stop": self._number(0, 12)}]], "scalar", 1, False

    def _stage(self, kind, tensors, endless, depth):
        """A stage, the kind of its elements and whether they are endless."""
        names = ["map", "take", "skip", "repeat", "prefetch"]
        names += ["padded_batch"] if kind != "mixed" else []
        names += ["batch", "batch", "window"] if kind in ("scalar", "rows", "many") else []
        if not endless:
            names += ["filter", "cache", "concatenate"]
            names += ["flat_map", "interleave", "interleave"] if kind == "scalar" and depth < 2 else []
            names += ["unbatch", "unbatch", "flat_map"] if kind in ("rows", "uneven rows") else []
            names += ["fill"] if kind == "scalar" and tensors == 1 else []
        name = self._draws.choice(names)
        if name in ("batch", "padded_batch", "window"):
            return self._combining(name, kind, endless)
        if name in ("take", "skip"):
            return [name, {"count": self._number(0, 9)}], kind, endless and name == "skip"
        if name == "repeat":
            count = self._number(-1, 3)
            return [name, {"count": count} if count >= 0 else {}], kind, (endless and count != 0) or count < 0
        if name == "prefetch":
            return [name, {"buffer_size": self._number(1, 3)}], kind, endless
        if name == "filter":
            return [name, {"predicate": self._draws.choice(list(PREDICATES))}], kind, False
        if name == "cache":
            return [name, {"file": True} if self._flag() else {}], kind, False
        if name == "concatenate":
            other, *of_other, endless = self.pipeline(depth + 1)
            if of_other != [kind, tensors]:
                return ["cache", {}], kind, False
            return [name, {"dataset": other}], {"rows": "uneven rows", "many": "uneven"}.get(kind, kind), endless
        if name in ("flat_map", "interleave"):
            inner = [["times" if kind == "scalar" else "slices", {}]]
            if self._flag():
                inner.append(["take", {"count": self._number(0, 4)}])
            lengths = {"cycle_length": self._number(1, 4), "block_length": self._number(1, 3)}
            return [name, {"map_func": inner, **(lengths if name == "interleave" else {})}], "scalar", False
        if name == "fill":
            function = self._draws.choice(("fill", "fill_rows"))
            return ["map", {"map_func": function}], "uneven rows" if function == "fill" else "uneven", endless
        if name == "unbatch":
            return [name, {}], "scalar", endless
        return ["map", {"map_func": "times_ten"}], kind, endless

    def _combining(self, name, kind, endless):
        arguments = {"drop_remainder": self._flag()}
        if name == "window":
            arguments |= {"size": self._number(1, 4), "shift": self._number(1, 4), "stride": self._number(1, 3)}
        else:
            arguments["batch_size"] = self._number(1, 5)
        # Padded batches differ in the sizes of the axes that are padded.
        even = arguments["drop_remainder"] and (name != "padded_batch" or kind in ("scalar", "rows", "many"))
        if kind == "scalar":
            return [name, arguments], "rows" if even else "uneven rows", endless
        return [name, arguments], "many" if even else "uneven", endless


def random_pipeline(seed):
    return RandomPipeline(seed).pipeline()[0]
