#!/usr/bin/env python3
"""Writes two C++ sources from pages. PROGRAMS has their first snippets, which are whole programs, each in its own
namespace, and a main that runs the one of a given page. SNIPPETS has all other C++ snippets, each in its own function.

Usage: snippets.py PROGRAMS SNIPPETS PAGE..."""

import pathlib
import re
import sys

SNIPPET = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)


def snippets(page):
    """(line, text) of each snippet."""
    text = page.read_text()
    found = [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in SNIPPET.finditer(text)]
    if not found or "\nint main() {\n" not in found[0][1]:
        sys.exit(f"{page}: the first C++ snippet is not a program")
    return found


def programs(pages):
    """Source code with the pages' first snippets."""
    firsts = {page: snippets(page)[0] for page in pages}
    includes = sorted({line for _, text in firsts.values() for line in INCLUDE.findall(text)})
    bodies, calls = "", ""
    for page, (line, text) in firsts.items():
        body = INCLUDE.sub("\n", text).replace("\nint main() {\n", "\nvoid run() {\n")
        bodies += f'namespace page_{page.stem} {{\n#line {line} "{page}"\n{body}}}\n\n'
        calls += f'  if (page == "{page.stem}") return page_{page.stem}::run(), 0;\n'
    main = f"int main(int, char** argv) {{\n  const std::string_view page = argv[1];\n{calls}  return 2;\n}}\n"
    return f"{''.join(includes)}#include <string_view>\n\n{bodies}{main}"


def functions(pages):
    """Source code with the other snippets."""
    bodies = "\n".join(
        f'[[maybe_unused]] void {page.stem}_{line}() {{\n#line {line} "{page}"\n{text}}}\n'
        for page in pages
        for line, text in snippets(page)[1:]
    )
    return f"#include <repo/snippets.h>\n\nnamespace snippets {{\n\n{bodies}\n}}  // namespace snippets\n"


program_source, snippet_source, *names = sys.argv[1:]
all_pages = [pathlib.Path(name) for name in names]
pathlib.Path(program_source).write_text(programs(all_pages))
pathlib.Path(snippet_source).write_text(functions(all_pages))
