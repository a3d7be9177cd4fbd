#!/usr/bin/env python3
"""A file has one subject: headers have at most 250 lines, sources at most 500."""

import tree

LIMITS = {tree.HEADERS: 250, tree.SOURCES: 500}


def check(root):
    for suffixes, limit in LIMITS.items():
        for path in tree.files(root, tree.CODE_FOLDERS, suffixes):
            lines = len(path.read_text().splitlines())
            if lines > limit:
                yield f"{path.relative_to(root)}: {lines} lines, the limit is {limit}; split it by subject"


if __name__ == "__main__":
    tree.main(check)
