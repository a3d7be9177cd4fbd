#!/usr/bin/env python3
"""No name, comment, message or page may use a word that a term of the field or plain English has replaced.

Words end where letters end: the parts of a snake_case name are words, those of a CamelCase name are not, except in
types.
"""

import re

import tree

# Patterns that are forbidden, and their replacements.
TYPES = {
    "GpuQueue": "Stream",
    "GpuMark|WatchedMark|CudaMark": "Event",
    "MeetingOptions": "CoordinationOptions",
    "RemakeFn": "RecomputeFn",
    "CaptureRehearsal": "CaptureWarmUp",
    "DistributionRecipe|NextBatch": "a data set's spec, a source of batches",
    "WaitWord": "Futex",
}
WORDS = {
    "crews?": "replica threads, ReplicaThreads",
    "meet|meets|meetings?": "barrier, synchronize, reach a collective, Coordination",
    "remakes?|remade|remakable": "recompute, Recomputed",
    "rehears(?:e|es|ed|al|als)": "warm-up",
    "take_down_fault|(?:take|takes|taken|took) down": "report",
    "turn order": "sequential, in their order",
    "own_pass": "an unfused activation",
    "more_x|more_y": "inputs, targets",
    "rows_cancel": "rows_sum_to_zero",
    "likewise": "the same for ...",
    "of no matter": "not used, ignored",
    "so many": "N, that many, a given number of",
    "whoever": "every caller that, the thread that",
    r"(?<!there\s)(?:is|are) (?-i:none)(?! of)": "is missing, is not one, is empty",
    "ha(?:s|ve) not ended": "timed out",
    "(?:comes?|coming|came) to": "reaches, is",
    "(?:goes|go|going|went|gone) on": "continues, resumes",
    "told|tells?(?! [^.;]* apart)": "gets, receives, reports, says",
}
FILES = (*tree.HEADERS, *tree.SOURCES, ".py", ".md", ".txt", ".cmake", ".in", ".supp", "")
# Exempt: files that list the words themselves, and byte corpora for fuzzers.
SKIPPED = ("tools/lint/check_words.py", "tests/repo/checkers_test.py", "tests/fuzz/corpus/")


# Separators between words, also in snake_case names and at the line breaks of a comment.
SPACE = r"[\s_/#*]+"
RULES = [
    (re.compile(rf"(?<![A-Za-z])(?:{word.replace(' ', SPACE)})(?![A-Za-z])", flags), instead)
    for words, flags in ((TYPES, 0), (WORDS, re.IGNORECASE))
    for word, instead in words.items()
]


def files(root):
    yield from (path for path in (root / "README.md", root / "CMakeLists.txt") if path.is_file())
    for path in tree.files(root, tree.CODE_FOLDERS, FILES):
        if not path.relative_to(root).as_posix().startswith(SKIPPED):
            yield path


def check(root):
    for path in files(root):
        text = path.read_text()
        found = [(match.start(), match[0], instead) for pattern, instead in RULES for match in pattern.finditer(text)]
        for start, word, instead in sorted(found):
            number = text.count("\n", 0, start) + 1
            yield f"{path.relative_to(root)}:{number}: '{' '.join(re.split(SPACE, word))}'; write: {instead}"


if __name__ == "__main__":
    tree.main(check)
