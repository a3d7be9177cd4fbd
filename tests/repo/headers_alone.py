#!/usr/bin/env python3
"""Writes for each header a C++ source that shows that the header compiles alone.

A header that includes another one may follow that one in its source, since it sees no more than alone. So the headers
form sequences in which each includes all those before it, directly or not. The source of a sequence's first header
includes the whole sequence; the sources of the others are empty.

Usage: headers_alone.py INCLUDE FOLDER HEADER...   (writes FOLDER/HEADER.cpp; INCLUDE has lockstep/HEADER)"""

import pathlib
import re
import sys

INCLUDE = re.compile(r"#include <lockstep/(.*)>")


def included(header, root):
    """All headers of the project that a header includes on every machine."""
    found, left = set(), [header]
    while left:
        depth = 0  # of conditions
        for line in (root / "lockstep" / left.pop()).read_text().splitlines():
            depth += line.startswith("#if") - line.startswith("#endif")
            match = INCLUDE.match(line)
            if match and depth == 0 and match[1] not in found:
                found.add(match[1])
                left.append(match[1])
    return found


def sequences(headers, root):
    """As few sequences as a greedy search finds."""
    includes = {header: included(header, root) for header in headers}
    result = []
    for header in sorted(headers, key=lambda header: (len(includes[header]), header)):
        before = [sequence for sequence in result if sequence[-1] in includes[header]]
        if before:
            max(before, key=lambda sequence: len(includes[sequence[-1]])).append(header)
        else:
            result.append([header])
    return result


def main(include, folder, *headers):
    sources = dict.fromkeys(headers, "")
    for sequence in sequences(headers, pathlib.Path(include)):
        sources[sequence[0]] = "".join(f"#include <lockstep/{header}>\n" for header in sequence)
    for header, source in sources.items():
        path = pathlib.Path(folder, f"{header}.cpp")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != source:
            path.write_text(source)


main(*sys.argv[1:])
