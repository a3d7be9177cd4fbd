"""Runs `lockstep train`, `evaluate` and `predict` on TFRecord files."""

import math
import struct
import unittest

from cli_test import run
from data_test import DataCase, floats, longs


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def varint(value):
    value &= 2 ** 64 - 1
    low = value & 0x7f
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + varint(value >> 7)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(**features):
    """A tf.train.Example; "__" in a name stands for "/"."""
    entries = b""
    for name, value in features.items():
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            list_of_values = field(1, b"".join(field(1, each) for each in values))
        elif isinstance(values[0], float):
            list_of_values = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            list_of_values = field(3, field(1, b"".join(map(varint, values))))
        entries += field(1, field(1, name.replace("__", "/").encode()) + field(2, list_of_values))
    return field(1, entries)


class TfRecord(DataCase):
    WIDTHS = [math.sin(row) for row in range(12)]
    SIZES = [[3 * row, -row] for row in range(12)]
    LABELS = [0, 2, 1, 1, 0, 2, 2, 0, 1, 1, 0, 2]

    def write(self, name, records):
        content = b""
        for record in records:
            length = struct.pack("<Q", len(record))
            content += length + crc32c(length) + record + crc32c(record)
        (self.path / name).write_bytes(content)
        return ["--data", f"tfrecord:{self.path / name}"]

    def rows(self, label="label"):
        """Inputs of both types: joined in the order of their names they are size, width."""
        return [example(width=width, size=size, name=b"a row", **{label: target})
                for width, size, target in zip(self.WIDTHS, self.SIZES, self.LABELS, strict=True)]

    def arrays(self):
        x = [value for size, width in zip(self.SIZES, self.WIDTHS, strict=True) for value in [*size, width]]
        return self.write_npz("arrays.npz", x=floats(x, 12, 3), y=longs(self.LABELS))

    def test_numbers(self):
        model, arrays = self.write_model(3, 3), self.arrays()
        self.write("part-1", self.rows()[:5])
        self.write("part-2", self.rows()[5:])
        parts = ["--data", f"tfrecord:{self.path}/part-*"]
        split = ["--epochs", "2", "--validation-split", "0.25"]
        expected = self.history(*model, *arrays, *split)
        self.assertEqual(len(expected["val_loss"]), 2)
        self.assertEqual(self.history(*model, *parts, *split), expected)
        self.assertEqual(self.evaluate(*model, *parts)["loss"], self.evaluate(*model, *arrays)["loss"])
        predicted = self.predict(*model, *arrays)
        self.assertEqual(self.predict(*model, *parts), predicted)
        unlabeled = self.write("inputs", [example(width=width, size=size)
                                          for width, size in zip(self.WIDTHS, self.SIZES, strict=True)])
        self.assertEqual(self.predict(*model, *unlabeled), predicted)
        renamed = self.write("renamed", self.rows(label="kind"))
        self.assertEqual(self.history(*model, *renamed, "--target", "kind", *split), expected)
        self.assertEqual(self.predict(*model, *renamed, "--inputs", "size,width"), predicted)
        balanced = ["--class-weight", "balanced"]
        self.assertEqual(self.history(*model, *parts, *balanced), self.history(*model, *arrays, *balanced))
        # Shuffled, the split is drawn by the seed, and training sees the other records in an order of its own.
        done = self.succeed("train", *model, *parts, *split, "--batch-size", "4")
        self.assertIn("9 training and 3 test examples", " ".join(done.stderr.split()))

    def test_one_feature_has_the_models_shape(self):
        model = self.write_model(3, 1)
        x, y = [[math.cos(3 * row + i) for i in range(3)] for row in range(6)], [0.5 * row for row in range(6)]
        records = self.write("r", [example(x=row, y=target, id=number)
                                   for number, (row, target) in enumerate(zip(x, y, strict=True))])
        arrays = self.write_npz("a.npz", x=floats([value for row in x for value in row], 6, 3), y=floats(y))
        chosen = [*records, "--inputs", "x", "--target", "y"]
        self.assertEqual(self.history(*model, *chosen), self.history(*model, *arrays))
        self.refuse("train", *model, *records, "--target", "y",
                    says=["has id (1), x (3) as input(s), but the model takes (3); choose with --inputs from id (1), x (3), y (1)"])
        # Raw bytes of images.
        pixels = [bytes((i * (number + 1)) % 256 for i in range(32 * 32 * 3)) for number in range(4)]
        raw = self.write("raw", [example(raw=content, label=number % 3) for number, content in enumerate(pixels)])
        images = self.write_npz("i.npz", x=("|u1", [4, 32, 32, 3], b"".join(pixels)), y=longs([0, 1, 2, 0]))
        cnn = ["--model", "small-cnn"]
        self.assertEqual(self.history(*cnn, *raw, "--inputs", "raw"), self.history(*cnn, *images))

    def test_images(self):
        self.write_classes(self.path / "images")
        files = sorted((self.path / "images").rglob("*.png"))
        folder = ["--data", f"images:{self.path / 'images'}"]
        models = [example(image__encoded=file.read_bytes(), image__class__label=number // 4, image__height=8)
                  for number, file in enumerate(files)]
        datasets = [example(image=file.read_bytes(), label=number // 4, file_name=b"x")
                    for number, file in enumerate(files)]
        weights, cnn = self.path / "w.weights.h5", ["--model", "small-cnn"]
        self.succeed("train", *cnn, *folder, "--batch-size", "4", "--save", weights)
        use = [*cnn, "--weights", weights]
        for name, records in ("models", models), ("datasets", datasets):
            data = self.write(name, records)
            self.assertEqual(self.history(*cnn, *data, "--rescaling", "zero-to-one"),
                             self.history(*cnn, *folder, "--rescaling", "zero-to-one"))
            self.assertEqual(self.evaluate(*use, *data)["loss"], self.evaluate(*use, *folder)["loss"])
            scores = [row["dense_0"] for row in self.predict(*use, *folder)]
            self.assertEqual([row["dense_0"] for row in self.predict(*use, *data)], scores)
        done = self.succeed("train", *cnn, "--data", f"tfrecord:{self.path}/models", "--batch-size", "4", "--limit", "6")
        self.assertIn("6 training and 0 test examples", " ".join(done.stderr.split()))

    def test_refuses_records_that_do_not_suit(self):
        model = self.write_model(3, 3)

        def refuse(data, *says, options=()):
            self.refuse("train", *model, *data, *options, says=says)

        def fail(data, says):
            """Records are read while the model trains."""
            done = run("train", *model, *data)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr.splitlines()[-1])

        refuse(["--data", "tfrecord"], "--data tfrecord:GLOB needs the name of a file")
        refuse(["--data", f"tfrecord:{self.path}/none-*"], "none-*: no file matches")
        refuse(self.write("empty", []), "empty: there are no records")
        good = self.write("good", self.rows())
        refuse(good, "--target lable: --data tfrecord", "did you mean label?", "its features are label, name, size, width",
               options=["--target", "lable"])
        refuse(good, "--inputs colour: --data tfrecord", options=["--inputs", "colour"])
        refuse(good, "the target 'name' must be numeric (float or int64)", options=["--target", "name"])
        refuse(good, "has size (2), width (1) as input(s), but the model takes (2)", options=self.write_model(2, 3))
        refuse(good, "has name as input(s), but the model takes (3)", options=["--inputs", "name"])
        refuse(self.write("other", self.rows(label="kind")), "has no image/class/label or label", "--target")
        missing = self.write("missing", [*self.rows(), example(size=[1, 2], label=0)])
        fail(missing, "missing: record 12: has no feature \"width\"")
        fail(self.write("above", [*self.rows(), example(size=[1, 2], width=1.5, label=3)]),
             "above: record 12: has the label 3, but the model has the classes 0 to 2")
        damaged = bytearray((self.path / "good").read_bytes())
        damaged[-1] ^= 1
        (self.path / "damaged").write_bytes(damaged)
        fail(["--data", f"tfrecord:{self.path}/damaged"], "damaged: record 11: its data have a wrong checksum")
        (self.path / "damaged").write_bytes(damaged[:-3])
        refuse(["--data", f"tfrecord:{self.path}/damaged"], "damaged: record 11: the file ends within it")
        for data in ["fashion-mnist", "hdf5:data.h5", "images:.", "numpy:data.npz", "synthetic", "text:a.txt"]:
            for option in ["--target", "--inputs"]:
                self.refuse("train", "--data", data, option, "kind",
                            says=f"{option} is for --data csv and tfrecord, not for " + data.split(":")[0])


if __name__ == "__main__":
    unittest.main()
