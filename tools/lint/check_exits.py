#!/usr/bin/env python3
"""The library must not end the process: it throws, and never calls exit, abort or similar functions."""

import re

import tree

# String and character literals, and comments.
NOT_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
# Members may have these names (rendezvous.abort(reason), void abort(const std::string&)): the C library's abort and
# terminate take no argument, and its exit functions are not members.
CALL = re.compile(
    r"(?<![\w.>:])(?:std\s*::\s*|::\s*)?(?:(?P<exit>exit|_exit|_Exit|quick_exit)\s*\(|(?P<abort>abort|terminate)\s*\(\s*\))"
)


def without_comments(text):
    """Blanks literals and comments in the text; keeps its lines."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check(root):
    for path in tree.files(root, tree.LIBRARY_FOLDERS, tree.HEADERS + tree.SOURCES):
        text = without_comments(path.read_text())
        for match in CALL.finditer(text):
            name = match["exit"] or match["abort"]
            number = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(root)}:{number}: calls {name}; throw an error of runtime/core/error.h"


if __name__ == "__main__":
    tree.main(check)
