#!/usr/bin/env python3
"""The tables of tests/README.md must name exactly the tests whose comments quote a row's number.

A comment before or in a test quotes rows of the contract as "semantics 2.5, 12.12: ...; 3.6: ...", TensorFlow's test
cases as "TF case 31" and the additional probes as "Probe P4". A table row begins with the number and ends with the
tests, as "`strategy/core/run_test` Name, Name; `kernels/reduce_test` Name", or with the reason why there is none. A
static_assert counts as a test named static_assert.
"""

import re

import tree

RUN = r"\d+\.\d+(?:, \d+\.\d+)*"
QUOTES = (
    re.compile(rf"semantics ({RUN})", re.IGNORECASE),
    re.compile(r"TF case (\d+)"),
    re.compile(r"\bProbe (P\d+)", re.IGNORECASE),
)
MORE_ROWS = re.compile(rf";\s({RUN})(?::|\n|$)")  # further rows in the same comment
TEST = re.compile(r"TEST(?:_F|_P)?\(\w+, (\w+)\)|(static_assert)\b")
ROW = re.compile(r"\| (\d+\.\d+|\d+|P\d+) \|.*\| (.+) \|")
TESTS_OF_FILE = re.compile(r"`([\w/]+)` ([\w, ]+)")


def numbers_in(comment):
    numbers = [number for pattern in QUOTES for run in pattern.findall(comment) for number in run.split(", ")]
    if QUOTES[0].search(comment):
        numbers += [number for run in MORE_ROWS.findall(comment) for number in run.split(", ")]
    return numbers


def quotes(path):
    """Yields (number, test) for each quote in a file. A comment in the first column belongs to the next test, any
    other to the test that contains it."""
    lines = path.read_text().splitlines()
    around = None
    at = 0
    while at < len(lines):
        match = TEST.match(lines[at])
        if match:
            around = match[1] or match[2]
        code, slashes, text = lines[at].partition("//")
        at += 1
        if not slashes:
            continue
        comment = text
        while not code.strip() and at < len(lines) and lines[at].strip().startswith("//"):
            comment += "\n" + lines[at].partition("//")[2].removeprefix(" ")
            at += 1
        following = next((found[1] or found[2] for found in map(TEST.match, lines[at:]) if found), None)
        for number in numbers_in(comment):
            yield number, around if code else following


def quoted_in(tests):
    """Maps each number to the set of (file, test) that quote it."""
    quoted = {}
    for path in tree.files(tests, (".",), tree.SOURCES):
        for number, test in quotes(path):
            name = path.relative_to(tests).with_suffix("").as_posix()
            quoted.setdefault(number, set()).add((name, test))
    return quoted


def tables(readme):
    """Maps each number to the set of (file, test) that its table row names."""
    rows = {}
    for number, cell in ROW.findall(readme):
        named = {(name, test) for name, tests in TESTS_OF_FILE.findall(cell) for test in tests.strip(" ,").split(", ")}
        rows.setdefault(number, set()).update(named)
    return rows


def check(root):
    rows = tables((root / "tests/README.md").read_text())
    quoted = quoted_in(root / "tests")
    for number in sorted(rows.keys() | quoted.keys()):
        if number not in rows:
            yield f"tests/README.md: no row {number}, which {sorted(quoted[number])[0][0]} quotes"
            continue
        for name, test in sorted(rows[number] - quoted.get(number, set())):
            yield f"tests/README.md: row {number} names {test} of {name}, which does not quote it"
        for name, test in sorted(quoted.get(number, set()) - rows[number]):
            yield f"tests/README.md: row {number} does not name {test} of {name}, which quotes it"


if __name__ == "__main__":
    tree.main(check)
