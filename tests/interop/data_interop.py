"""Compares what lockstep reads with what other programs wrote: NumPy's files, CSV files of Python's csv module,
TFRecord files of TensorBoard's writer, PNG files of Pillow, and vocabularies of Hugging Face's tokenizers.

usage: data_interop.py --driver DATA_DRIVER
"""

import argparse
import collections
import csv
import functools
import json
import pathlib
import tempfile
import unicodedata

import driver_output
import numpy as np
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


def check_csv(read, folder):
    random = np.random.default_rng(2)
    texts = ["plain", "a, comma", 'a "quote"', "two\nlines", "", "ends with space "]
    numbers = np.concatenate([random.normal(size=200) * 10.0 ** random.integers(-50, 37, 200), [0.0, -0.0, 1e38]])
    integers = random.integers(-(2**53), 2**53, len(numbers))  # the driver prints doubles
    chosen = random.integers(0, len(texts), len(numbers))
    for ending in ("\n", "\r\n"):
        with open(folder / "a.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator=ending)
            writer.writerow(["number", "whole, number", "text"])
            for row in zip(numbers, integers, chosen):
                writer.writerow([repr(float(row[0])), row[1], texts[row[2]]])
        number, whole, text = read("csv", folder / "a.csv")
        assert [number[1], whole[1], text[1]] == ["f32", "i64", "i32"]
        np.testing.assert_array_equal(number[2], numbers.astype(np.float32).astype(np.float64))
        assert whole[0] == "whole, number"
        np.testing.assert_array_equal(whole[2], integers)
        categories = sorted(one for one in texts if one)
        codes = [categories.index(texts[i]) if texts[i] else -1 for i in chosen]
        np.testing.assert_array_equal(text[2], codes)


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
        # As Keras' IndexLookup.finalize_state, which needs TensorFlow: sorted by count and UTF-8, in reverse.
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
    for check in (check_numpy, check_csv, check_tfrecord, check_masks, check_characters, check_byte_pairs):
        with tempfile.TemporaryDirectory() as folder:
            check(read, pathlib.Path(folder))
        print(f"{check.__name__}: ok")


if __name__ == "__main__":
    main()
