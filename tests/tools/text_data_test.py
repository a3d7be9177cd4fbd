"""Runs `lockstep train`, `evaluate` and `predict` on texts."""

import json
import math
import unittest

from data_test import DataCase, longs


class Text(DataCase):
    TEXT = "abracadabra, \u00e9t\u00e9\n\"abra\" cadabra\n"
    STEPS, UNITS = 5, 16

    def write(self, text=TEXT, name="book.txt"):
        (self.path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return ["--data", f"text:{self.path / name}"]

    def text_model(self, units=UNITS):
        return self.write_model(self.STEPS, units, "text")

    def characters(self):
        """The characters from id 2: the most frequent first, of equally frequent ones the one with the greater code point."""
        return sorted(set(self.TEXT), key=lambda character: (-self.TEXT.count(character), -ord(character)))

    def windows(self, ids):
        starts = range(0, len(ids) - self.STEPS, self.STEPS)
        rows = [ids[start:start + self.STEPS] for start in starts], [ids[start + 1:start + self.STEPS + 1] for start in starts]
        x, y = (longs([id for row in part for id in row], len(part), self.STEPS) for part in rows)
        return self.write_npz("ids.npz", x=x, y=y)

    def test_characters(self):
        model, save = self.text_model(), self.path / "trained.keras"
        data = self.write()
        names = self.characters()
        ids = [names.index(character) + 2 for character in self.TEXT]
        expected = self.history(*model, *self.windows(ids), "--epochs", "2", "--validation-split", "0.4")
        self.assertEqual(len(expected["val_loss"]), 2)
        self.assertEqual(self.history(*model, *data, "--epochs", "2", "--validation-split", "0.4"), expected)
        done = self.succeed("train", *model, *data, "--save", save)
        kept = self.path / "trained.vocabulary.txt"
        self.assertIn(f"wrote {kept}: the vocabulary", done.stderr)
        self.assertIn(f"windows of 5 ids, a vocabulary of {len(names) + 2} characters", " ".join(done.stderr.split()))
        self.assertEqual(kept.read_text(), "".join({"\n": "\\n"}.get(name, name) + "\n" for name in names))

        # Another text, with other frequencies and a new character, has the same ids.
        other = "zzzz abra"
        rows = self.predict("--model", save, *self.write(other, "other.txt"))
        self.assertEqual([row["token"] for row in rows], ["\ufffd"] * 4 + [" "])
        self.assertEqual(list(rows[0])[:3], ["token", "class", "probability"])
        self.assertEqual(len(rows[0]), 3 + self.UNITS)
        following = [1, 1, 1, names.index(" ") + 2, names.index("a") + 2]
        loss, names = 0, ["", "\ufffd", *names, *[""] * self.UNITS]
        for row, target in zip(rows, following, strict=True):
            logits = [float(row[name]) for name in list(row)[3:]]
            total = sum(map(math.exp, logits))
            loss += math.log(total) - logits[target]
            self.assertEqual(row["class"], names[logits.index(max(logits))])
            self.assertAlmostEqual(float(row["probability"]), math.exp(max(logits)) / total, places=3)
        logs = self.evaluate("--model", save, "--data", f"text:{self.path}/other.txt")
        self.assertEqual(logs["examples"], 1)
        self.assertAlmostEqual(logs["loss"], loss / 5, places=4)

    def test_probabilities_of_the_next_characters(self):
        model, save = self.write_model(self.STEPS, self.UNITS, "probabilities"), self.path / "trained.keras"
        self.succeed("train", *model, *self.write(), "--save", save)
        for row in self.predict("--model", save, *self.write()):
            most = max(float(row[name]) for name in list(row)[3:])
            self.assertAlmostEqual(float(row["probability"]), most, places=4)

    def test_a_gpt_that_takes_any_number_of_ids(self):
        model, save = self.write_model(8, 16, "gpt"), self.path / "trained.keras"
        data = self.write("abcdabcd" * 40)
        done = self.succeed("train", *model, *data, "--sequence-length", "8", "--optimizer", "adam", "--learning-rate",
                            "0.03", "--epochs", "30", "--batch-size", "8", "--save", save, "--history",
                            self.path / "h.json")
        self.assertIn("windows of 8 ids, a vocabulary of 6 characters", " ".join(done.stderr.split()))
        losses = json.loads((self.path / "h.json").read_text())["loss"]
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertEqual(self.evaluate("--model", save, *data, "--sequence-length", "8")["examples"], 39)
        self.assertEqual(self.evaluate("--model", save, *data, "--sequence-length", "5")["examples"], 63)
        rows = self.predict("--model", save, *data, "--sequence-length", "4")
        self.assertEqual("".join(row["class"] for row in rows[-3:]), "cda")
        self.refuse("evaluate", "--model", save, *data, "--sequence-length", "9", says="position_embedding")
        self.refuse("evaluate", "--model", save, *data,
                    says=f"--model {save}: takes any number of ids; set the number of ids per example with --sequence-length")
        self.refuse("evaluate", "--model", save, *self.write("abcd", "short.txt"), "--sequence-length", "8",
                    says="short.txt: has 4 id(s), but the model needs at least 9; choose a smaller --sequence-length")
        self.refuse("train", "--model", "gpt", "--data", "synthetic", "--sequence-length", "4",
                    says="--sequence-length is for saved models, not for gpt")
        self.refuse("train", *self.text_model(), *data, "--sequence-length", "4",
                    says=["--sequence-length: is for models that take sequences", "takes inputs of shape (5)"])

    def test_byte_pairs(self):
        model, save = self.text_model(260), self.path / "trained.weights.h5"
        data = self.write()
        done = self.succeed("train", *model, *data, "--vocabulary", "byte-pairs", "--save", save)
        tokens, merges = self.path / "trained.vocab.json", self.path / "trained.merges.txt"
        self.assertIn(f"wrote {tokens} and {merges}", " ".join(done.stderr.split()))
        # The most frequent pairs: ab 4 times, then ra with the smaller id of its left part than abr's.
        ids = json.loads(tokens.read_text())
        self.assertEqual(len(ids), 260)
        learned = ["".join(line.split()) for line in merges.read_text().splitlines()[1:]]
        self.assertEqual([ids[token] for token in learned], [256, 257, 258, 259])
        use = [*model, "--weights", save]
        rows = self.predict(*use, *data)
        spelled = self.TEXT.replace(" ", "\u0120").replace("\n", "\u010a").replace("\u00e9", "\u00c3\u00a9")
        self.assertTrue(spelled.startswith("".join(row["token"] for row in rows)))
        self.assertLess(len(rows), len(self.TEXT.encode()))
        text_ids, rest = [], spelled
        while rest:  # greedy, which these merges are
            text_ids.append(ids[max((token for token in ids if rest.startswith(token)), key=len)])
            rest = rest[len(next(token for token, id in ids.items() if id == text_ids[-1])):]
        self.assertEqual([ids[row["token"]] for row in rows], text_ids[:len(rows)])
        self.assertEqual(self.evaluate(*use, *data)["loss"], self.evaluate(*use, *self.windows(text_ids))["loss"])
        given = ["--vocabulary", tokens]
        self.assertEqual(self.history(*model, *data, *given), self.history(*model, *self.windows(text_ids)))
        # Bytes that are not UTF-8.
        self.assertEqual(len(self.predict(*use, *self.write(b"\xff" * 7, "bytes.txt"))), 5)

    def test_training_continues_with_the_vocabulary_of_a_checkpoint(self):
        model, folder = self.text_model(), self.path / "run"
        checkpoint = ["--checkpoint", folder, "--batch-size", "4"]
        self.succeed("train", *model, *self.write(), *checkpoint)
        kept = (folder / "last.vocabulary.txt").read_text()
        self.assertEqual((folder / "best.vocabulary.txt").read_text(), kept)
        other = self.write(self.TEXT + "z" * 50, "other.txt")
        self.succeed("train", *model, *other, *checkpoint, "--resume", "--epochs", "2")
        self.assertEqual((folder / "last.vocabulary.txt").read_text(), kept)
        weights = ["--weights", folder / "best.weights.h5"]
        self.succeed("train", *model, *other, *weights, "--save", self.path / "more.keras")
        self.assertEqual((self.path / "more.vocabulary.txt").read_text(), kept)
        self.assertEqual({row["token"] for row in self.predict(*model, *weights, *other)[-5:]}, {"\ufffd"})
        given = ["--vocabulary", folder / "best.vocabulary.txt"]
        self.assertEqual(self.evaluate(*model, *other, *given), self.evaluate(*model, *other, *given, "--limit", "99"))

    def test_refuses_texts_that_do_not_suit(self):
        model, save = self.text_model(), ["--save", self.path / "trained.keras"]
        book = self.write()

        def refuse(data, *says, command="train", options=()):
            self.refuse(command, *model, *data, *options, says=says)

        refuse(["--data", "text"], "--data text:FILE needs a file name")
        refuse(["--data", f"text:{self.path}/none.txt"], "none.txt: there is no such file")
        refuse(self.write(b"good\nb\xffad\n", "bad.txt"), "bad.txt: line 2: byte 1 is not UTF-8: 0xff", options=save)
        refuse(self.write("short", "short.txt"), "short.txt: has 5 id(s), but the model needs at least 6")
        refuse(book, "book.txt: needs a language model: token ids (n) -> outputs (n, vocabulary size)", "the model takes (32, 32, 3)",
               options=["--model", "small-cnn"])
        refuse(book, "needs a language model: token ids (n) -> outputs (n, vocabulary size)", options=self.write_model(2, 3))
        refuse(book, "found no vocabulary beside", "16_text.keras", "--vocabulary", command="evaluate")
        refuse(book, "--vocabulary byte-pairs: only train learns a vocabulary", command="evaluate",
               options=["--vocabulary", "byte-pairs"])
        refuse(book, "--vocabulary words: must be characters, byte-pairs, a .txt file",
               options=["--vocabulary", "words"])
        refuse(book, "none.txt: there is no such file", options=["--vocabulary", self.path / "none.txt"])
        refuse(book, "vocab_size", "256", options=["--vocabulary", "byte-pairs"])
        (self.path / "many.txt").write_text("".join(f"{chr(97 + i)}\n" for i in range(20)))
        refuse(book, "the vocabulary has 22 characters, but the model has 16 outputs",
               options=["--vocabulary", self.path / "many.txt"])
        refuse(book, "--rescaling is for --data csv", options=["--rescaling", "zero-to-one"])
        self.refuse("train", "--data", "synthetic", "--vocabulary", "characters",
                    says="--vocabulary is for --data text, not for synthetic")
        name = str(model[1]).removesuffix(".keras")
        self.write("a\n", f"{name}.vocabulary.txt")
        self.write("{}", f"{name}.vocab.json")
        refuse(book, f"{name}.vocabulary.txt and {name}.vocab.json both exist; choose one with --vocabulary")


if __name__ == "__main__":
    unittest.main()
