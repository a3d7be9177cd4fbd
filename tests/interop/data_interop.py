"""Compares what lockstep reads with what other programs read or wrote: NumPy's files, pandas.read_csv, TFRecord files
of TensorBoard's writer, PNG files of Pillow, Keras' image_dataset_from_directory and timeseries_dataset_from_array
(with grain in place of TensorFlow), and vocabularies of Hugging Face's tokenizers.

usage: data_interop.py --driver DATA_DRIVER
"""

import argparse
import collections
import csv
import functools
import json
import pathlib
import random as random_python
import tempfile
import unicodedata

import keras_backend

keras_backend.choose("numpy")

import driver_output
import keras
import numpy as np
import pandas as pd
import PIL.Image
import tokenizers
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.summary.writer.record_writer import RecordWriter

# The dtype that lockstep reads each of NumPy's as.
DTYPES = {
    "f2": "f32", "f4": "f32", "f8": "f32", "i1": "i32", "i2": "i32", "i4": "i32", "i8": "i64",
    "u1": "u8", "u2": "i32", "u4": "i64", "u8": "i64", "b1": "bool",
}  # fmt: skip


def arrays():
    """Arrays of every type, in several shapes, orders and byte orders."""
    random = np.random.default_rng(1)
    for order in "<>":
        for kind in DTYPES:
            for shape in ((), (5,), (3, 4), (2, 0), (2, 3, 4)):
                values = abs(random.normal(size=shape) * 100) if kind[0] == "u" else random.normal(size=shape) * 100
                values = np.asarray(values).astype(kind).astype(np.dtype(kind).newbyteorder(order))
                yield kind, values
                yield kind, np.asfortranarray(values)


def check_numpy(read, folder):
    cases = {f"case {number}": case for number, case in enumerate(arrays())}
    for save in (np.savez, np.savez_compressed):
        save(folder / "a.npz", **{name: values for name, (_, values) in cases.items()})
        found = {name: (dtype, values) for name, dtype, values in read("npz", folder / "a.npz")}
        assert found.keys() == cases.keys()
        for name, (kind, values) in cases.items():
            dtype, elements = found[name]
            assert dtype == DTYPES[kind], (kind, dtype)
            expected = values.astype(np.float32) if dtype == "f32" else values.astype(np.int64)
            np.testing.assert_array_equal(elements, expected.astype(np.float64), f"{kind} {values.shape} {values.flags}")
    np.save(folder / "a.npy", np.arange(6.0).reshape(2, 3))
    [(_, _, values)] = read("npy", folder / "a.npy")
    np.testing.assert_array_equal(values, np.arange(6.0).reshape(2, 3))


# Without integers beyond i64, which pandas reads as one of several types.
SPELLINGS = {
    "whole": ["0", "-0", "007", "+12", " 3", "4 ", "\t5", "9223372036854775807", "-9223372036854775808", "123456789"],
    "number": ["0.5", "-.5e-3", "1.", "+.25", "1e5", "1E+05", "inf", "-INF", "+Infinity", "1e400", "-1e-400", " 2.5 "],
    "missing": ["", "NA", "NaN", "nan", "-nan", "null", "NULL", "None", "n/a", "N/A", "#N/A", "<NA>", "-1.#IND"],
    "text": ["plain", "a, comma", 'a "quote"', "two\nlines", "two\r\nlines", "ends with space ", " ", "\t ", "\u00e9",
             "NAN", "Nan", "nan(1)", " nan", "+nan", " NA", "none", "0x10", "1_000", "1e", ".", "1 2", "--1", "+-1",
             "1f"],
    "boolean": ["True", "False", "true", "FALSE"],
}  # fmt: skip
# The kinds of values of a column.
MIXTURES = (
    ("whole",), ("number",), ("missing",), ("text",), ("boolean",), ("whole", "missing"), ("number", "missing"),
    ("whole", "number"), ("whole", "number", "missing"), ("text", "missing"),
    ("boolean", "missing"), ("whole", "text"), ("number", "text", "missing"), tuple(SPELLINGS),
)  # fmt: skip


def csv_file(random, columns):
    """The text of a table of these columns, as different programs write it."""
    ending = random.choice(["\n", "\r\n", "\r"])
    blank = [""] if random.random() < 0.3 else ["", " ", "  \t "]

    def field(text, alone):
        special = alone and not text.strip(" \t") or text[:1] == '"' or any(one in text for one in ',"\n\r')
        return '"' + text.replace('"', '""') + '"' if special or random.random() < 0.1 else text

    text = ""
    for record in zip(*([name, *values] for name, values in columns.items())):
        # Not with "\r", after which pandas drops an empty first field that follows an empty line.
        text += random.choice(blank) + ending if ending != "\r" and random.random() < 0.1 else ""
        text += ",".join(field(value, len(columns) == 1) for value in record) + ending
    return text if random.random() < 0.7 else text[: -len(ending)]


def check_table(read, file):
    """Compares with pandas.read_csv: types, values, missing values and categories."""
    expected = pd.read_csv(file)
    texts = pd.read_csv(file, dtype=str)  # the texts of categories, also where pandas has booleans
    found = []
    for name, dtype, values in read("csv", file):
        if name == "category":
            found[-1][3].append(bytes(values.astype(np.uint8).tolist()))
        else:
            found.append((name, dtype, values, []))
    assert [name for name, *_ in found] == list(expected.columns)
    for name, dtype, values, categories in found:
        column = expected[name]
        if column.dtype == np.int64:
            assert dtype == "i64", (name, dtype)
            np.testing.assert_array_equal(values, column.to_numpy().astype(np.float64))  # the driver prints doubles
        elif column.dtype == np.float64:
            assert dtype == "f32", (name, dtype)
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(values, column.astype(np.float64).to_numpy().astype(np.float32))
        else:
            assert dtype == "i32", (name, dtype)
            wanted = [None if pd.isna(text) else text.encode() for text in texts[name]]
            assert categories == sorted({text for text in wanted if text is not None})
            assert [None if code < 0 else categories[int(code)] for code in values] == wanted


def check_csv(read, folder):
    random = np.random.default_rng(2)
    numbers = np.concatenate([random.normal(size=200) * 10.0 ** random.integers(-50, 37, 200), [0.0, -0.0, 1e38]])
    texts = ["plain", "a, comma", 'a "quote"', "two\nlines", "", "ends with space "]
    table = pd.DataFrame(
        {
            "number": numbers,
            "whole, number": random.integers(-(2**63), 2**63 - 1, len(numbers)),
            "text": random.choice(texts, len(numbers)),
            "flag": random.random(len(numbers)) < 0.5,
            "with gaps": pd.array(random.integers(0, 9, len(numbers)), "Int64").astype("Float64"),
        }
    )
    table.loc[random.random(len(numbers)) < 0.2, "with gaps"] = pd.NA
    for options in ({}, {"lineterminator": "\r\n"}, {"quoting": csv.QUOTE_ALL}, {"compression": "gzip"}):
        table.to_csv(folder / "a.csv.gz" if "compression" in options else folder / "a.csv", index=False, **options)
        check_table(read, folder / ("a.csv.gz" if "compression" in options else "a.csv"))
    spelled = random_python.Random(3)
    for _ in range(60):
        rows = spelled.randrange(1, 30)
        columns = {}
        for place in range(spelled.randrange(1, 12)):
            kinds = spelled.choice(MIXTURES)
            columns[f"column {place}"] = [spelled.choice(SPELLINGS[spelled.choice(kinds)]) for _ in range(rows)]
        (folder / "a.csv").write_bytes(csv_file(spelled, columns).encode())
        try:
            check_table(read, folder / "a.csv")
        except BaseException:
            print((folder / "a.csv").read_bytes())
            raise


def example_class():
    """tf.train.Example, from its definition (tensorflow/core/example)."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="tensorflow", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto

    def add(name, *fields, parent=file.message_type):
        message = parent.add(name=name)
        for number, (label, kind, field_name, type_name) in enumerate(fields, 1):
            message.field.add(name=field_name, number=number, label=label, type=kind, type_name=type_name)
        return message

    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    add("BytesList", (many, field.TYPE_BYTES, "value", None))
    add("FloatList", (many, field.TYPE_FLOAT, "value", None))
    add("Int64List", (many, field.TYPE_INT64, "value", None))
    feature = add(
        "Feature",
        (one, field.TYPE_MESSAGE, "bytes_list", ".tensorflow.BytesList"),
        (one, field.TYPE_MESSAGE, "float_list", ".tensorflow.FloatList"),
        (one, field.TYPE_MESSAGE, "int64_list", ".tensorflow.Int64List"),
    )
    feature.oneof_decl.add(name="kind")
    for each in feature.field:
        each.oneof_index = 0
    features = add("Features", (many, field.TYPE_MESSAGE, "feature", ".tensorflow.Features.FeatureEntry"))
    entry = add(
        "FeatureEntry",
        (one, field.TYPE_STRING, "key", None),
        (one, field.TYPE_MESSAGE, "value", ".tensorflow.Feature"),
        parent=features.nested_type,
    )
    entry.options.map_entry = True
    add("Example", (one, field.TYPE_MESSAGE, "features", ".tensorflow.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


def check_tfrecord(read, folder):
    Example = example_class()
    random = np.random.default_rng(3)
    expected = []
    with open(folder / "a.tfrecord", "wb") as file:
        writer = RecordWriter(file)
        for _ in range(50):
            x = random.normal(size=3).astype(np.float32)
            raw = random.integers(0, 256, (2, 2)).astype(np.uint8)
            y = int(random.integers(-(10**6), 10**6))
            record = Example()
            record.features.feature["x"].float_list.value.extend(x.tolist())
            record.features.feature["raw"].bytes_list.value.append(raw.tobytes())
            record.features.feature["y"].int64_list.value.append(y)
            record.features.feature["other"].bytes_list.value.extend([b"not", b"read"])
            writer.write(record.SerializeToString())
            expected += [("x", "f32", x), ("raw", "u8", raw), ("y", "i64", y)]
        writer.flush()
    found = list(read("tfrecord", folder / "a.tfrecord"))
    assert len(found) == len(expected)
    for (name, dtype, values), wanted in zip(found, expected):
        assert (name, dtype) == wanted[:2]
        np.testing.assert_array_equal(values, np.asarray(wanted[2], np.float64))


def check_masks(read, folder):
    random = np.random.default_rng(4)
    for mode, classes in (("L", 256), ("P", 256), ("P", 3), ("1", 2)):
        values = random.integers(0, classes, (7, 5)).astype(np.uint8)
        image = PIL.Image.fromarray(values * 255 if mode == "1" else values, "L")
        image = image.convert("1") if mode == "1" else image
        if mode == "P":
            image.putpalette(random.integers(0, 256, 3 * classes).astype(np.uint8).tobytes())
        image.save(folder / "mask.png")
        [(_, dtype, mask)] = read("mask", folder / "mask.png")
        assert dtype == "u8"
        np.testing.assert_array_equal(mask[:, :, 0], values, mode)


def check_images(read, folder):
    """Order, classes, split and pixels of Keras' image_dataset_from_directory."""
    random = np.random.default_rng(6)
    for number in range(23):
        name = folder / "images" / ("b", "a", "c d")[number % 3] / ("", "inner", "z")[number % 7 % 3]
        name.mkdir(parents=True, exist_ok=True)
        height, width = random.integers(1, 30, 2)
        image = PIL.Image.fromarray(random.integers(0, 256, (height, width, 3)).astype(np.uint8))
        image.save(name / f"{random.integers(1000)}{('.png', '.bmp', '.jpg')[number % 3]}", quality=90)

    def compare(directory, size, mode, subset):
        split = {"validation_split": 0.3, "subset": subset} if subset else {}
        theirs = keras.utils.image_dataset_from_directory(
            directory, image_size=size, color_mode=mode, batch_size=None, shuffle=False, format="grain", verbose=False,
            **split,
        )  # fmt: skip
        channels = {"rgb": 3, "grayscale": 1}[mode]
        ours = list(read("images", directory, *map(str, (*size, channels)), *map(str, split.values())))
        assert len(ours) == 2 * len(theirs.file_paths)
        for place, (image, label) in enumerate(theirs):
            np.testing.assert_array_equal(ours[2 * place + 1][2], np.asarray(label))
            # lockstep and TensorFlow take a JPEG's own gray, Keras with grain computes it from the clipped colors.
            file = theirs.file_paths[place]
            if mode == "grayscale" and file.endswith(".jpg"):
                continue
            limit = {"rgb": 0.01, "grayscale": 1.01}[mode]  # gray is rounded in two ways
            np.testing.assert_allclose(ours[2 * place][2], np.asarray(image), rtol=0, atol=limit, err_msg=file)

    for subset in (None, "training", "validation"):
        compare(folder / "images", (9, 12), "rgb", subset)
    compare(folder / "images", (40, 5), "rgb", None)
    compare(folder / "images", (9, 12), "grayscale", None)

    # With a seed, Keras draws other files, but also disjoint parts of the same sizes.
    def images(*split):
        found = read("images", folder / "images", "4", "4", "3", *split)
        return [tuple(values.ravel()) for name, _, values in found if name == "image"]

    training, validation = (images("0.3", subset, "5") for subset in ("training", "validation"))
    assert len(validation) == int(0.3 * len(images()))
    assert sorted(training + validation) == sorted(images())


def check_windows(read, folder):
    """Windows and targets of Keras' timeseries_dataset_from_array."""
    random = np.random.default_rng(7)
    for case in range(40):
        steps = int(random.integers(20, 40))
        start, (length, stride, rate) = int(random.integers(0, 5)), random.integers(1, 5, 3).tolist()
        end = int(random.integers(start + (length - 1) * rate + 1, steps + 1))
        arrays = {"data": random.normal(size=(steps, 2)[: 1 + case % 2]).astype(np.float32)}
        if case % 3:
            rows = steps if start else int(random.integers(1, steps + 1))  # Keras needs all targets after a start
            arrays["targets"] = random.normal(size=(rows, 3)[: 1 + case % 2]).astype(np.float32)
        np.savez(folder / "series.npz", **arrays)
        theirs = keras.utils.timeseries_dataset_from_array(
            arrays["data"], arrays.get("targets"), length, sequence_stride=stride, sampling_rate=rate, batch_size=None,
            start_index=start or None, end_index=end if end < steps else None, format="grain",
        )  # fmt: skip
        expected = [part for example in theirs for part in (example if "targets" in arrays else [example])]
        numbers = map(str, (length, stride, rate, start, end))
        found = [values for _, _, values in read("windows", folder / "series.npz", *numbers)]
        assert len(found) == len(expected) > 0, (case, len(found), len(expected))
        for own, other in zip(found, expected):
            np.testing.assert_array_equal(own, np.asarray(other, np.float64))


def code():
    """400 KB of English text and code, which every Python has."""
    folder = pathlib.Path(argparse.__file__).parent
    return "".join((folder / name).read_text() for name in ("argparse.py", "doctest.py", "tarfile.py", "typing.py"))


def characters():
    """Random characters of all scripts to which all versions of Unicode give the same class, between common ones."""
    random = np.random.default_rng(5)
    old = unicodedata.ucd_3_2_0.category
    known = [chr(i) for i in range(0x110000) if unicodedata.category(chr(i)) == old(chr(i)) not in ("Cn", "Co", "Cs")]
    common = list(" \n\t\r'srtvemld019az,.\u00a0\u3000")
    chosen = np.where(random.random(20000) < 0.3, random.choice(known, 20000), random.choice(common, 20000))
    return "".join(chosen.tolist())


def write(file, text):
    file.write_bytes(text.encode())
    return file


def check_characters(read, folder):
    for text in (code(), characters()):
        # After Keras' IndexLookup.finalize_state, which needs TensorFlow: sorted by count and UTF-8, in reverse.
        counts = collections.Counter(text)
        tokens = np.array([one.encode() for one in counts], dtype=object)
        order = np.lexsort((tokens, np.array(list(counts.values()))))[::-1]
        ids = {tokens[place].decode(): number for number, place in enumerate(order, 2)}
        [(_, dtype, found)] = read("characters", write(folder / "text", text))
        assert dtype == "i64"
        np.testing.assert_array_equal(found, [ids[one] for one in text])


def check_byte_pairs(read, folder):
    vocab, merges = folder / "vocab.json", folder / "merges.txt"
    texts = [code(), characters()]
    for text in texts:
        file = write(folder / "text", text)
        [(_, _, own)] = read("train_pairs", file, vocab, merges)
        own_files = vocab.read_text(), merges.read_text()
        trained = tokenizers.Tokenizer(tokenizers.models.BPE())
        trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=1000, initial_alphabet=alphabet, show_progress=False)
        trained.train_from_iterator([text], trainer)
        trained.model.save(str(folder))
        assert json.loads(vocab.read_text()) == json.loads(own_files[0])
        assert merges.read_text() == own_files[1]
        loaded = tokenizers.ByteLevelBPETokenizer(str(vocab), str(merges), add_prefix_space=False)
        np.testing.assert_array_equal(own, loaded.encode(text).ids)
        for other in texts:
            [(_, _, found)] = read("encode_pairs", write(folder / "text", other), vocab, merges)
            np.testing.assert_array_equal(found, loaded.encode(other).ids)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    read = functools.partial(driver_output.tensors_of, parser.parse_args().driver)
    for check in (check_numpy, check_csv, check_tfrecord, check_masks, check_images, check_windows, check_characters,
                  check_byte_pairs):
        with tempfile.TemporaryDirectory() as folder:
            check(read, pathlib.Path(folder))
        print(f"{check.__name__}: ok")


if __name__ == "__main__":
    main()
