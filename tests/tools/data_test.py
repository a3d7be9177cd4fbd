"""Runs `lockstep train`, `evaluate` and `predict` on data of every source.

The paths of the programs are in $LOCKSTEP, $WRITE_HDF5 and $WRITE_MODEL.
"""

import csv
import json
import math
import os
import struct
import subprocess
import unittest
import zipfile
import zlib

from cli_test import CNN, TINY, Case


class DataCase(Case):
    def write_png(self, path, value):
        """A gray image of 8 x 8 pixels."""
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        path.parent.mkdir(parents=True, exist_ok=True)
        rows = b"".join(b"\0" + bytes([value] * 8) for _ in range(8))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                         + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

    def write_classes(self, root):
        for index, name in enumerate(["dark", "light", "white"]):
            for number in range(4):
                self.write_png(root / name / f"{number}.png", 100 * index + number)

    def write_hdf5(self, name, *arguments):
        file = self.path / name
        subprocess.run([os.environ["WRITE_HDF5"], file, *arguments], check=True)
        return file

    def write_model(self, inputs, units, *kind):
        file = self.path / f"{'_'.join(map(str, [inputs, units, *kind]))}.keras"
        subprocess.run([os.environ["WRITE_MODEL"], file, str(inputs), str(units), *kind], check=True)
        return ["--model", file]

    def write_csv(self, name, header, rows):
        with (self.path / name).open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        return ["--data", f"csv:{self.path / name}"]

    def write_npz(self, name, **arrays):
        """Each array is (type as in numpy's files, shape, bytes)."""
        with zipfile.ZipFile(self.path / name, "w") as file:
            for key, (kind, shape, content) in arrays.items():
                header = str({"descr": kind, "fortran_order": False, "shape": tuple(shape)}).encode() + b"\n"
                file.writestr(f"{key}.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + content)
        return ["--data", f"numpy:{self.path / name}"]

    def history(self, *arguments):
        """The history of a training with one step for each epoch."""
        self.succeed("train", *CNN, "--batch-size", "64", "--no-shuffle", *arguments, "--history", self.path / "h.json")
        history = json.loads((self.path / "h.json").read_text())
        return {name: history[name] for name in ["loss", "val_loss"] if name in history}

    def evaluate(self, *arguments):
        return json.loads(self.succeed("evaluate", *arguments, "--json").stdout.splitlines()[-1])

    def predict(self, *arguments):
        table = self.path / "p.csv"
        self.succeed("predict", *arguments, "--output", table)
        with table.open() as lines:
            return list(csv.DictReader(lines))


def floats(values, *shape):
    return "<f4", shape or [len(values)], struct.pack(f"<{len(values)}f", *values)


def longs(values, *shape):
    return "<i8", shape or [len(values)], struct.pack(f"<{len(values)}q", *values)


class Data(DataCase):
    def test_images(self):
        self.write_classes(self.path / "images")
        done = self.succeed("train", *CNN, "--data", f"images:{self.path / 'images'}", "--batch-size", "4", "--augment")
        self.assertIn("images, 2 replicas: 12 training and 0 test examples", " ".join(done.stderr.split()))
        done = self.succeed("train", *CNN, "--data", f"images:{self.path / 'images'}/", "--batch-size", "4")
        self.assertIn("small-cnn on images, 2 replicas", done.stderr)
        self.refuse("train", "--data", f"images:{self.path / 'images'}", "--cache-on-devices",
                    says=["--cache-on-devices", "images is read or converted on the host"])

    def test_images_to_train_and_to_test_with(self):
        for part in ["train", "test"]:
            self.write_classes(self.path / "images" / part)
        arguments = ["train", *CNN, "--data", f"images:{self.path / 'images'}", "--batch-size", "4", "--limit", "8"]
        done = self.succeed(*arguments, "--history", self.path / "h.json")
        self.assertIn("8 training and 12 test examples", " ".join(done.stderr.split()))
        self.assertIn("val_loss", json.loads((self.path / "h.json").read_text()))
        self.write_png(self.path / "images" / "test" / "gray" / "0.png", 50)
        self.refuse(*arguments, says="must have the same folders")

    def test_predictions_say_file_and_class(self):
        root, table, model = self.path / "images", self.path / "p.csv", self.path / "m.keras"
        for index, name in enumerate(["dark", "light", "white, bright"]):
            for number in range(4):
                self.write_png(root / name / f"{number}.png", 100 * index + number)
        data = ["--data", f"images:{root}", "--rescaling", "zero-to-one"]
        self.succeed("train", *CNN, *data, "--batch-size", "4", "--save", model)

        def predict(*data):
            self.succeed("predict", "--model", model, *data, "--output", table)
            with table.open() as lines:
                return list(csv.DictReader(lines))

        rows = predict(*data)
        self.assertEqual(list(rows[0]), ["file", "class", "probability", "dense_0", "dense_1", "dense_2"])
        self.assertEqual([row["file"] for row in rows], [str(file) for file in sorted(root.rglob("*.png"))])
        names = sorted(folder.name for folder in root.iterdir())
        for row in rows:
            logits = [float(row[f"dense_{unit}"]) for unit in range(3)]
            self.assertEqual(row["class"], names[logits.index(max(logits))])
            self.assertAlmostEqual(float(row["probability"]), 1 / sum(math.exp(x - max(logits)) for x in logits),
                                   places=3)
        numbers = {row["file"]: float(row["dense_0"]) for row in rows}
        self.assertEqual(len(set(numbers.values())), 12)
        for row in predict(*data, "--limit", "5"):
            self.assertAlmostEqual(float(row["dense_0"]), numbers[row["file"]], places=4)
        # The number of classes differs, so the names are not used.
        self.write_png(root / "none" / "0.png", 50)
        self.assertEqual(list(predict(*data)[0]), ["file", "dense_0", "dense_1", "dense_2"])

    def test_predictions_of_known_data_sets_say_the_class(self):
        weights, table = self.path / "w.weights.h5", self.path / "p.csv"
        self.succeed("train", *TINY, "--save", weights)
        self.succeed("predict", *CNN, "--weights", weights, "--data", "fashion-mnist", "--limit-test",
                     "4", "--output", table)
        with table.open() as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual(list(rows[0]), ["class", "probability", *(f"dense_{unit}" for unit in range(10))])
        self.assertIn(rows[0]["class"], ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                                         "Sneaker", "Bag", "Ankle boot"])

    def test_images_to_validate_with_and_a_class_named_train(self):
        for name in ["val", "valid", "validation"]:
            for part in ["train", name]:
                self.write_classes(self.path / name / part)
            done = self.succeed("train", *CNN, "--data", f"images:{self.path / name}", "--batch-size", "4")
            self.assertIn("12 training and 12 test examples", " ".join(done.stderr.split()))
        self.write_classes(self.path / "val" / "more")
        self.refuse("train", "--data", f"images:{self.path / 'val'}",
                    says=["'train' has folders", "'more'", "one of test, val"])
        for index, name in enumerate(["plane", "ship", "train"]):
            for number in range(4):
                self.write_png(self.path / "classes" / name / f"{number}.png", 100 * index)
        done = self.succeed("train", *CNN, "--data", f"images:{self.path / 'classes'}", "--batch-size", "4")
        self.assertIn("12 training and 0 test examples", " ".join(done.stderr.split()))
        (self.path / "classes" / "web").mkdir()
        (self.path / "classes" / "web" / "a.webp").write_bytes(b"RIFF")
        self.refuse("train", "--data", f"images:{self.path / 'classes'}", says=["classes/web", "a.webp", ".bmp"])

    def test_hdf5(self):
        file = self.path / "data.h5"
        subprocess.run([os.environ["WRITE_HDF5"], file], check=True)
        done = self.succeed("train", *CNN, "--data", f"hdf5:{file}", "--batch-size", "4")
        self.assertIn("data.h5, 2 replicas: 12 training and 4 test examples", " ".join(done.stderr.split()))
        self.refuse("train", "--data", f"hdf5:{file}", "--model", "mlp",
                    says=["examples of shape (32, 32, 3)", "takes (8000)"])
        self.refuse("train", "--data", f"hdf5:{self.path / 'none.h5'}", says="none.h5")

    def test_values_are_rescaled_as_asked_whatever_their_type(self):
        def loss(file, *more):
            done = self.succeed("train", *CNN, "--data", f"hdf5:{file}", "--batch-size", "4", "--no-shuffle", "--step-log",
                                self.path / "s.jsonl", *more)
            self.assertIn("parameters; values ", done.stderr)
            return json.loads((self.path / "s.jsonl").read_text().splitlines()[0])["loss"]

        files = [self.path / f"{kind}.h5" for kind in ["u8", "f32"]]
        for file in files:
            subprocess.run([os.environ["WRITE_HDF5"], file, file.stem], check=True)
        plain = [loss(file) for file in files]
        unit = [loss(file, "--rescaling", "zero-to-one") for file in files]
        symmetric = [loss(file, "--rescaling", "minus-one-to-one") for file in files]
        for losses in plain, unit, symmetric:
            self.assertEqual(losses[0], losses[1])
        self.assertEqual(len({plain[0], unit[0], symmetric[0]}), 3)
        self.refuse("train", "--data", f"hdf5:{files[0]}", "--rescaling", "auto", says=["--rescaling", "zero-to-one"])
        self.refuse("train", "--data", "fashion-mnist", "--rescaling", "zero-to-one",
                    says="is for --data csv, hdf5, images, numpy and tfrecord")

    def test_hdf5_to_test_with_alone(self):
        files = {parts: self.path / f"{parts}.h5" for parts in ["all", "test", "x_test", "no_y_train", "no_y_test"]}
        for parts, file in files.items():
            subprocess.run([os.environ["WRITE_HDF5"], file, "u8", parts], check=True)
        model = self.path / "m.keras"
        self.succeed("train", "--model", "minigooglenet", "--data", f"hdf5:{files['all']}", "--batch-size", "4", "--save", model)

        def evaluate(parts):
            done = self.succeed("evaluate", "--model", model, "--data", f"hdf5:{files[parts]}", "--json")
            return json.loads(done.stdout.splitlines()[-1])

        def predict(parts):
            self.succeed("predict", "--model", model, "--data", f"hdf5:{files[parts]}", "--output", self.path / "p.csv")
            return (self.path / "p.csv").read_text()

        self.assertEqual(evaluate("test")["loss"], evaluate("all")["loss"])
        self.assertEqual(predict("test"), predict("all"))
        self.assertEqual(predict("x_test"), predict("all"))
        self.refuse("evaluate", "--model", model, "--data", f"hdf5:{files['x_test']}", says="targets")
        self.refuse("train", "--data", f"hdf5:{files['test']}", says=["test.h5", "no x_train and y_train"])
        self.refuse("train", "--data", f"hdf5:{files['no_y_test']}", says="has x_test without y_test")
        self.succeed("convert", model, self.path / "m.weights.h5")
        trained = json.loads(self.succeed("evaluate", "--weights", self.path / "m.weights.h5", "--data",
                                          f"hdf5:{files['no_y_train']}", "--json").stdout.splitlines()[-1])
        self.assertEqual(trained["loss"], evaluate("all")["loss"])

    def test_a_limit_changes_nothing_but_the_number_of_examples(self):
        weights = self.path / "w.weights.h5"
        self.succeed("train", *TINY, "--save", weights)

        def loss(*limit):
            done = self.succeed("evaluate", *CNN, "--weights", weights, "--data", "fashion-mnist",
                                "--limit-test", "8", "--json", *limit)
            return json.loads(done.stdout.splitlines()[-1])["loss"]

        self.assertEqual(loss("--limit", "16"), loss())
        unlimited = ["--data", "synthetic:8", "--limit-test", "4"]
        self.refuse("train", *CNN, *unlimited, says="--limit-test: --data synthetic:8 has no test examples; leave it out")
        self.refuse("evaluate", *CNN, "--weights", weights, *unlimited, says="has no test examples; use --limit")

    def test_augmentation_changes_the_images(self):
        def losses(*arguments):
            self.succeed("train", *CNN, "--data", "fashion-mnist", "--limit", "8", "--limit-test", "2", "--batch-size", "4",
                         "--step-log", self.path / "s.jsonl", *arguments)
            return [json.loads(line)["loss"] for line in (self.path / "s.jsonl").read_text().splitlines()]

        changed = losses("--augment")
        self.assertNotEqual(losses(), changed)
        self.assertEqual(losses("--augment"), changed)
        self.refuse("train", *TINY, "--augment", says="--augment changes images; --data synthetic has none")


class Csv(DataCase):
    HEADER = ["width", "height", "kind"]
    SIZES = [(0.5 * row, 3 - row) for row in range(12)]
    KINDS = ["pear", "apple, red", "fig"] * 4

    def write(self, name="fruit.csv", header=HEADER, kinds=KINDS, first=False):
        rows = [[*size, kind] if not first else [kind, *size] for size, kind in zip(self.SIZES, kinds, strict=True)]
        return self.write_csv(name, header, rows)

    def test_texts_and_numbers_are_classes(self):
        model, save = self.write_model(2, 3), self.path / "trained.keras"
        data = self.write()
        done = self.succeed("train", *model, *data, "--save", save, "--epochs", "3")
        self.assertIn("fruit.csv, 2 replicas: 12 training and 0 test examples", " ".join(done.stderr.split()))
        rows = self.predict("--model", save, *data, "--target", "kind")
        self.assertEqual(list(rows[0]), ["class", "probability", "dense_0", "dense_1", "dense_2"])
        for row in rows:
            logits = [float(row[f"dense_{unit}"]) for unit in range(3)]
            self.assertEqual(row["class"], sorted(self.KINDS[:3])[logits.index(max(logits))])
        logs = self.evaluate("--model", save, *data)
        self.assertEqual(logs["examples"], 12)
        expected = 0
        for row, kind in zip(rows, self.KINDS, strict=True):
            logits = [float(row[f"dense_{unit}"]) for unit in range(3)]
            expected += math.log(sum(map(math.exp, logits))) - logits[sorted(self.KINDS[:3]).index(kind)]
        self.assertAlmostEqual(logs["loss"], expected / 12, places=4)
        losses = self.history(*model, *data)
        self.assertEqual(self.history(*model, *self.write("int.csv", kinds=[2, 0, 1] * 4)), losses)
        self.assertEqual(self.history(*model, *self.write("real.csv", kinds=["2.0", "0.0", "1.0"] * 4)), losses)
        moved = self.write("moved.csv", header=["kind", "width", "height"], first=True)
        self.assertEqual(self.history(*model, *moved, "--target", "kind"), losses)

    def test_regression(self):
        model = self.write_model(2, 1)
        prices = [1.5 * row - 2 for row in range(12)]
        data = self.write("prices.csv", kinds=prices)
        rows = self.predict(*model, *data, "--target", "kind")
        self.assertEqual(list(rows[0]), ["dense_0"])
        expected = sum((float(row["dense_0"]) - price) ** 2 for row, price in zip(rows, prices, strict=True)) / 12
        self.assertAlmostEqual(self.evaluate(*model, *data)["loss"] / expected, 1, places=5)
        self.assertEqual(len(self.history(*model, *data, "--epochs", "2")["loss"]), 2)
        for metrics in [], ["--metrics", "mae"]:
            plot = self.path / f"{len(metrics)}.png"
            self.succeed("train", *model, *data, *metrics, "--plot", plot)
            self.assertTrue(plot.read_bytes().startswith(b"\x89PNG"))
        scaled = self.evaluate(*model, *data, "--rescaling", "zero-to-one")
        self.assertIn("values / 255", scaled["preparation"])
        self.assertNotEqual(scaled["loss"], expected)

    def test_the_table_is_no_output(self):
        model, data = self.write_model(2, 1), self.write("prices.csv", kinds=list(range(12)))
        file = self.path / "prices.csv"
        before = file.read_bytes()
        (self.path / "link.csv").symlink_to(file)
        for path in file, self.path / "link.csv":
            for command, option in ["train", "--csv"], ["train", "--step-log"], ["predict", "--output"]:
                self.refuse(command, *model, *data, option, path, says=f"{option} {path}: is the file of --data")
        self.assertEqual(file.read_bytes(), before)

    def test_predict_needs_no_targets(self):
        model = self.write_model(2, 3)
        target = ["--target", "kind"]
        rows = self.predict(*model, *self.write(), *target)
        expected = [{name: row[name] for name in row if name.startswith("dense")} for row in rows]
        inputs = self.write_csv("inputs.csv", self.HEADER[:2], self.SIZES)
        self.assertEqual(self.predict(*model, *inputs), expected)
        self.assertEqual(self.predict(*model, *inputs, *target), expected)
        self.assertEqual(self.predict(*model, *self.write("missing.csv", kinds=[""] * 12), *target), expected)
        self.assertEqual(self.predict(*model, *self.write("two.csv", kinds=["pear", "fig"] * 6), *target), expected)
        # A column more is not the target unless it is named.
        self.refuse("predict", *model, *self.write(), "--output", self.path / "p2.csv",
                    says=["fruit.csv: has 3 column(s) as inputs", "only if --target names it", "takes (2)"])
        self.refuse("evaluate", *model, *inputs, says=["inputs.csv", "has 1 column(s) beside the target 'height'",
                                                       "takes (2)"])
        self.refuse("evaluate", *model, *inputs, "--target", "kind", says="--target kind: --data csv")

    def test_inputs_are_chosen(self):
        model = self.write_model(2, 3)
        expected = self.history(*model, *self.write())
        table = self.write_csv("more.csv", ["id", "height", "kind", "width", "note"],
                               [[number, height, kind, width, "text"]
                                for number, ((width, height), kind) in enumerate(zip(self.SIZES, self.KINDS))])
        chosen = [*table, "--inputs", "width,height"]
        self.assertEqual(self.history(*model, *chosen, "--target", "kind"), expected)
        rows = self.predict(*model, *self.write_csv("inputs.csv", self.HEADER[:2], self.SIZES))
        self.assertEqual(self.predict(*model, *chosen), rows)
        self.refuse("train", *model, *table, "--inputs", "width,kind", "--target", "kind",
                    says="--inputs kind: --data csv")
        self.refuse("train", *model, *table, "--inputs", "widht,height", says="did you mean width?")

    def test_labels_that_the_loss_ignores(self):
        labels = [0, 2, -1, 1] * 3
        kept = [row for row, label in enumerate(labels) if label >= 0]
        model = self.write_model(2, 3, "ignore")
        data = self.write("ignored.csv", kinds=labels)
        logs = self.evaluate(*model, *data)
        expected = 0
        for row in kept:
            scores = self.predict(*model, *data, "--target", "kind")[row]
            logits = [float(scores[f"dense_{unit}"]) for unit in range(3)]
            expected += math.log(sum(map(math.exp, logits))) - logits[labels[row]]
        self.assertAlmostEqual(logs["loss"], expected / len(kept), places=4)
        balanced = ["--class-weight", "balanced"]
        self.assertEqual(self.history(*model, *data, *balanced), self.history(*model, *data))
        self.refuse("train", *model, *self.write("below.csv", kinds=[0, 1, -2] * 4),
                    says=["the target 'kind' has -2 in row 3", "the classes 0 to 2 and ignores -1"])
        self.refuse("train", *self.write_model(2, 3), *data, says="the target 'kind' has -1 in row 3")

    def test_refuses_tables_that_do_not_suit(self):
        model = self.write_model(2, 3)

        def refuse(data, *says, options=()):
            self.refuse("train", *model, *data, *options, says=says)

        def with_sizes(name, *sizes):
            return self.write_csv(name, self.HEADER, [[*size, kind] for size, kind in zip(sizes, [0, 1, 2])])

        refuse(["--data", "csv"], "--data csv:FILE needs a file name")
        refuse(["--data", f"csv:{self.path}/none.csv"], "none.csv: there is no such file")
        refuse(self.write(), "--target knd: --data csv", "fruit.csv has no column", "did you mean kind?",
               options=["--target", "knd"])
        refuse(self.write(), "has 2 column(s) beside the target 'kind', but the model takes (32, 32, 3)",
               options=CNN)
        refuse(self.write_csv("wide.csv", ["a", *self.HEADER], [[0, 1, 2, 1]]), "wide.csv",
               "has 3 column(s) beside the target 'kind'")
        refuse(self.write_csv("header.csv", self.HEADER, []), "header.csv: the table has no rows")
        (self.path / "empty.csv").write_text("")
        refuse(["--data", f"csv:{self.path}/empty.csv"], "empty.csv", "is empty")
        refuse(self.write_csv("ragged.csv", self.HEADER, [[1, 2, 0], [1, 2]]), "ragged.csv: line 3: has 2 field(s)")
        refuse(with_sizes("texts.csv", [1, 2], [2, "tall"], [3, 4]), "texts.csv: column 'height' has texts such as '2'")
        refuse(with_sizes("missing.csv", [1, 2], ["", 3], [3, 4]),
               "column 'width' has no value in row 2 below the header")
        refuse(with_sizes("infinite.csv", [1, 2], [1, 3], [3, "-inf"]),
               "column 'height' has an infinite value in row 3")
        refuse(self.write("two.csv", kinds=["pear", "fig"] * 6),
               "the target 'kind' has 2 different text(s), but the model has 3 classes")
        self.refuse("evaluate", *model, *self.write("two.csv", kinds=["pear", "fig"] * 6),
                    says="has 2 different text(s)")
        refuse(self.write("gaps.csv", kinds=[*self.KINDS[:11], ""]),
               "the target 'kind' has no finite value in row 12 below the header")
        refuse(self.write("gaps.csv", kinds=[0.5] * 11 + [""]), "the target 'kind' has 0.5 in row 1")
        refuse(self.write("above.csv", kinds=[0, 1, 3] * 4), "the target 'kind' has 3 in row 3", "the classes 0 to 2")


class Numpy(DataCase):
    X = [math.sin(value) for value in range(24)]
    Y = [0, 2, 1, 1, 0, 2, 2, 0, 1, 1, 0, 2]

    def test_the_arrays_are_those_of_hdf5(self):
        def images(count):
            return "|u1", [count, 32, 32, 3], bytes(i * 7 % 256 for i in range(count * 32 * 32 * 3))

        def labels(count):
            return "|u1", [count], bytes(i % 3 for i in range(count))

        file = self.write_hdf5("data.h5")
        data = self.write_npz("data.npz", x_train=images(12), y_train=labels(12), x_test=images(4), y_test=labels(4))
        model, weights = CNN, self.path / "w.weights.h5"
        done = self.succeed("train", *model, *data, "--batch-size", "4", "--save", weights)
        self.assertIn("data.npz, 2 replicas: 12 training and 4 test examples", " ".join(done.stderr.split()))
        hdf5 = ["--data", f"hdf5:{file}"]
        for scale in ["none", "zero-to-one"]:
            history = self.history(*model, *data, "--rescaling", scale)
            self.assertEqual(history, self.history(*model, *hdf5, "--rescaling", scale))
            self.assertIn("val_loss", history)
        use = [*model, "--weights", weights]
        self.assertEqual(self.evaluate(*use, *data)["loss"], self.evaluate(*use, *hdf5)["loss"])
        self.assertEqual(self.predict(*use, *data), self.predict(*use, *hdf5))
        only_x = self.write_npz("x.npz", x_test=images(4))
        saved = self.path / "m.keras"
        self.succeed("train", *model, *data, "--batch-size", "4", "--save", saved)
        self.assertEqual(self.predict("--model", saved, *only_x), self.predict("--model", saved, *data))
        self.refuse("evaluate", "--model", saved, *only_x, says="targets")

    def test_x_and_y_of_other_types(self):
        model = self.write_model(2, 3)
        expected = self.history(*model, *self.write_npz("a.npz", x=floats(self.X, 12, 2), y=longs(self.Y)))
        column = self.write_npz("b.npz", x=floats(self.X, 12, 2), y=longs(self.Y, 12, 1))
        self.assertEqual(self.history(*model, *column), expected)
        whole = [value % 7 for value in range(24)]
        integers = self.history(*model, *self.write_npz("c.npz", x=longs(whole, 12, 2), y=longs(self.Y)))
        reals = self.write_npz("d.npz", x=floats(whole, 12, 2), y=longs(self.Y))
        self.assertEqual(integers, self.history(*model, *reals))
        scaled = self.history(*model, "--data", f"numpy:{self.path}/c.npz", "--rescaling", "zero-to-one")
        self.assertNotEqual(scaled, integers)
        binary = [value % 2 for value in range(12)]
        model = self.write_model(2, 2)
        booleans = self.write_npz("e.npz", x=floats(self.X, 12, 2), y=("|b1", [12], bytes(binary)))
        labels = self.write_npz("f.npz", x=floats(self.X, 12, 2), y=longs(binary))
        self.assertEqual(self.history(*model, *booleans), self.history(*model, *labels))

    def test_refuses_files_that_do_not_suit(self):
        model, x, y = self.write_model(2, 3), floats(self.X, 12, 2), longs(self.Y)

        def refuse(data, *says):
            self.refuse("train", *model, *data, says=says)

        refuse(["--data", "numpy"], "--data numpy:FILE.npz needs a file name")
        refuse(["--data", f"numpy:{self.path}/none.npz"], "none.npz: there is no such file")
        refuse(["--data", f"numpy:{self.path}/{'x' * 300}.npz"], "x.npz: there is no such file")
        (self.path / "text.npz").write_text("no archive")
        refuse(["--data", f"numpy:{self.path}/text.npz"], "text.npz: cannot be opened as a zip archive")
        (self.path / "one.npy").write_bytes(b"\x93NUMPY\x01\0")
        refuse(["--data", f"numpy:{self.path}/one.npy"], "one.npy: is a .npy file of one array; a .npz file")
        refuse(self.write_npz("short.npz", x=x, y=("<i8", [12], bytes(95))), "short.npz: y: has 95 bytes of elements")
        refuse(self.write_npz("objects.npz", x=("|O", [12, 2], bytes(96)), y=y),
               "objects.npz: x: its elements have the type \"O\"")
        refuse(self.write_npz("no_y.npz", x=x), "no_y.npz: has no x_train and y_train, or x and y, to train with")
        refuse(self.write_npz("test.npz", x_test=x, y_test=y),
               "test.npz: has no x_train and y_train, or x and y, to train with")
        refuse(self.write_npz("no_y_test.npz", x_train=x, y_train=y, x_test=x), "has x_test without y_test")
        refuse(self.write_npz("other.npz", data=x, labels=y),
               "other.npz: has no x_train and y_train, or x and y, to train with")
        self.refuse("predict", *model, *self.write_npz("other.npz", data=x), "--output", self.path / "p.csv",
                    says="other.npz: has no x_train, x_test or x")
        refuse(self.write_npz("rows.npz", x=x, y=longs(self.Y[:11])), "rows.npz: x and y: ", "equally many rows")
        refuse(self.write_npz("scalar.npz", x=x, y=("<i8", [], bytes(8))),
               "scalar.npz: x and y: y of a data set needs an axis of examples")
        refuse(self.write_npz("none.npz", x=floats([], 0, 2), y=longs([])), "none.npz: x has no rows")
        refuse(self.write_npz("no_test.npz", x_train=x, y_train=y, x_test=floats([], 0, 2), y_test=longs([])),
               "no_test.npz: x_test has no rows")
        refuse(self.write_npz("wide.npz", x=floats(self.X, 8, 3), y=longs(self.Y[:8])),
               "wide.npz: x has examples of shape (3), but the model takes (2)")
        images = self.write_npz("images.npz", x=("|u1", [2, 8, 8, 3], bytes(384)), y=floats([0, 1]))
        self.refuse("train", *CNN, *images, says="images.npz: y must have integer class labels")
        pixels = ("|u1", [2, 8, 8, 3], bytes(384))
        self.refuse("train", *CNN, *self.write_npz("no_label.npz", x=pixels, y=("<i8", [2, 0], b"")),
                    says="no_label.npz: y must have integer class labels")
        for label in [2**30, 2**32 + 1, 2**63 - 1]:
            self.refuse("train", *CNN, *self.write_npz("large.npz", x=pixels, y=longs([0, label])),
                        says=f"large.npz: y has the label {label}; class labels must be below 1073741824")


class ValidationSplit(DataCase):
    def test_the_last_examples_of_arrays_and_tables(self):
        x, y = [math.cos(value) for value in range(20)], [value % 3 for value in range(10)]
        model = self.write_model(2, 3)
        parts = self.write_npz("parts.npz", x_train=floats(x[:14], 7, 2), y_train=longs(y[:7]),
                               x_test=floats(x[14:], 3, 2), y_test=longs(y[7:]))
        expected = self.history(*model, *parts, "--epochs", "2")
        self.assertEqual(len(expected["val_loss"]), 2)
        whole = self.write_npz("whole.npz", x=floats(x, 10, 2), y=longs(y))
        # floor(10 * (1 - 0.25)) = 7, as in Keras
        self.assertEqual(self.history(*model, *whole, "--epochs", "2", "--validation-split", "0.25"), expected)
        exact = struct.unpack("<20f", struct.pack("<20f", *x))
        table_rows = [[repr(exact[2 * i]), repr(exact[2 * i + 1]), y[i]] for i in range(10)]
        table = self.write_csv("whole.csv", ["a", "b", "label"], table_rows)
        self.assertEqual(self.history(*model, *table, "--epochs", "2", "--validation-split", "0.25"), expected)
        done = self.succeed("train", *model, *whole, "--validation-split", "0.25", "--limit", "8", "--limit-test", "1")
        self.assertIn("6 training and 1 test examples", " ".join(done.stderr.split()))
        file = self.write_hdf5("data.h5", "u8", "train")
        done = self.succeed("train", *CNN, "--data", f"hdf5:{file}", "--batch-size", "4",
                            "--validation-split", "0.25")
        self.assertIn("9 training and 3 test examples", " ".join(done.stderr.split()))

    def test_images_drawn_by_the_seed(self):
        self.write_classes(self.path / "images")
        train = ["train", *CNN, "--data", f"images:{self.path / 'images'}", "--batch-size", "4",
                 "--validation-split", "0.25"]

        def val_loss(*options):
            done = self.succeed(*train, *options, "--learning-rate", "1e-9", "--json")
            self.assertIn("9 training and 3 test examples", " ".join(done.stderr.split()))
            return json.loads(done.stdout.splitlines()[-1])["val_loss"]

        self.assertEqual(val_loss("--seed", "3"), val_loss("--seed", "3"))
        self.assertIn("9 training and 2 test examples", " ".join(self.succeed(*train, "--limit-test", "2").stderr.split()))
        # Without shuffling the last files, which are those of the last class.
        for part, counts in ("train", [4, 4, 1]), ("test", [0, 0, 3]):
            for index, (name, count) in enumerate(zip(["dark", "light", "white"], counts, strict=True)):
                (self.path / "parts" / part / name).mkdir(parents=True)
                for number in range(count):
                    self.write_png(self.path / "parts" / part / name / f"{number}.png",
                                   100 * index + number + (1 if part == "test" else 0))
        parts = self.history("--data", f"images:{self.path / 'parts'}")
        self.assertEqual(self.history(*train[1:], "--batch-size", "64"), parts)

    def test_refuses_a_split_that_is_not_one(self):
        x, y = floats([0.5] * 20, 10, 2), longs([0] * 10)
        model, whole = self.write_model(2, 3), self.write_npz("whole.npz", x=x, y=y)
        for split in ["0", "1", "-0.5", "nan", "1.5"]:
            self.refuse("train", *model, *whole, "--validation-split", split,
                        says="--validation-split: must be between 0 and 1, got")
        self.refuse("train", *model, *whole, "--validation-split", "half", says=["--validation-split", "half"])
        self.refuse("train", *model, *whole, "--validation-split", "0.95",
                    says=["--validation-split 0.95: leaves no training examples", "has 10"])
        self.refuse("train", *model, *whole, "--validation-split", "1e-17", says="leaves no test examples")
        split = ["--validation-split", "0.5"]
        parts = self.write_npz("parts.npz", x_train=x, y_train=y, x_test=x, y_test=y)
        self.refuse("train", *model, *parts, *split,
                    says=["--validation-split: --data numpy", "parts.npz already has test examples (x_test)"])
        hdf5 = ["--data", f"hdf5:{self.write_hdf5('data.h5')}"]
        self.refuse("train", *hdf5, *split, says="data.h5 already has test examples (x_test)")
        for part in ["train", "val"]:
            self.write_classes(self.path / "images" / part)
        images = [*CNN, "--data", f"images:{self.path / 'images'}"]
        self.refuse("train", *images, *split, says=["--validation-split: --data images", "already has test examples ('val')"])
        images[-1] += "/train"
        self.refuse("train", *images, "--validation-split", "0.01",
                    says="a validation_split of 0.01 of 12 image(s) leaves a part without images")
        for data in ["fashion-mnist", "cifar10:DIR"]:
            self.refuse("train", "--data", data, *split,
                        says=["--validation-split is for --data csv", "has test examples"])
        self.refuse("train", "--data", "synthetic", *split,
                    says=["--validation-split is for --data csv", "not for synthetic"])
        self.refuse("evaluate", *model, *whole, *split, says="--validation-split is not an option of evaluate")


class ClassWeight(DataCase):
    def test_balanced(self):
        kinds = ["pear", "fig", "pear", "apple", "pear", "fig"]
        sizes = [(math.sin(row), 1 - row) for row in range(6)]
        data = self.write_csv("fruit.csv", ["width", "height", "kind"],
                              [[*size, kind] for size, kind in zip(sizes, kinds, strict=True)])
        model, names = self.write_model(2, 3), sorted(set(kinds))
        expected = 0
        for row, kind in zip(self.predict(*model, *data, "--target", "kind"), kinds, strict=True):
            logits = [float(row[f"dense_{unit}"]) for unit in range(3)]
            loss = math.log(sum(map(math.exp, logits))) - logits[names.index(kind)]
            expected += 6 / (3 * kinds.count(kind)) * loss / 6
        balanced = ["--class-weight", "balanced"]
        self.assertAlmostEqual(self.history(*model, *data, *balanced)["loss"][0], expected, places=4)
        self.assertNotAlmostEqual(self.history(*model, *data)["loss"][0], expected, places=2)
        # The weights are those of the examples that the split leaves to train with.
        x, y = floats([value for size in sizes for value in size], 6, 2), longs([names.index(kind) for kind in kinds])
        first = self.write_npz("first.npz", x=floats(struct.unpack("<8f", x[2][:32]), 4, 2),
                               y=longs(struct.unpack("<4q", y[2][:32])))
        split = self.history(*model, *self.write_npz("all.npz", x=x, y=y), *balanced, "--validation-split", "0.33")
        self.assertEqual(split["loss"], self.history(*model, *first, *balanced)["loss"])

    def test_of_images_and_hdf5(self):
        self.write_classes(self.path / "images")
        self.write_png(self.path / "images" / "dark" / "more.png", 20)
        for data in f"images:{self.path / 'images'}", f"hdf5:{self.write_hdf5('data.h5')}":
            data = [*CNN, "--data", data, "--limit", "11"]
            self.assertNotEqual(self.history(*data, "--class-weight", "balanced")["loss"], self.history(*data)["loss"])

    def test_refuses_targets_that_are_not_labels(self):
        model, balanced = self.write_model(1, 1), ["--class-weight", "balanced"]
        self.refuse("train", *TINY, "--class-weight", "even",
                    says="--class-weight: must be one of balanced, got 'even'")
        prices = self.write_csv("prices.csv", ["size", "price"], [[row, row + 0.5] for row in range(4)])
        self.refuse("train", *model, *prices, *balanced,
                    says=["--class-weight balanced: ", "need labels", "got f32 (4)"])
        whole = self.write_csv("whole.csv", ["size", "price"], [[row, 100 * row + 3] for row in range(4)])
        self.refuse("train", *model, *whole, *balanced,
                    says=["--class-weight balanced: whole.csv has targets from 3 to 303", "has the classes 0 to 1"])


if __name__ == "__main__":
    unittest.main()
