#!/usr/bin/env python3
"""Writes a C++ source of all C++ snippets of some pages, each in a function of its own. Usage: snippets.py SOURCE PAGE..."""

import pathlib
import re
import sys

SNIPPET = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)


def functions(page):
    text = pathlib.Path(page).read_text()
    found = list(SNIPPET.finditer(text))
    if not found:
        sys.exit(f"{page} has no C++ snippet")
    for snippet in found:
        line = text.count("\n", 0, snippet.start(1)) + 1
        name = re.sub(r"\W", "_", pathlib.Path(page).name)
        yield f'[[maybe_unused]] void {name}_{line}() {{\n#line {line} "{page}"\n{snippet.group(1)}}}\n'


source, *pages = sys.argv[1:]
bodies = "\n".join(function for page in pages for function in functions(page))
pathlib.Path(source).write_text(f"#include <repo/snippets.h>\n\nnamespace snippets {{\n\n{bodies}\n}}  // namespace snippets\n")
