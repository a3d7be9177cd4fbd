#!/usr/bin/env python3
"""Includes must go only leftward: runtime <- kernels <- strategy <- models <- tools, bench. Tests may include all.

The library's files include each other as <lockstep/folder/...>; a program (tools, bench, tests) includes its own
headers, which lie beside its sources, as "header.h". A library source includes the header of the same name first and in
quotes, so that sorting keeps it first: every build then shows that the header compiles alone.

Folders of every depth are ordered, too: includes between them must not form a cycle.
"""

import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
UMBRELLA = "lockstep/lockstep.h"  # to the right of every library folder


def visible_from(folder):
    """The folders that files of `folder` may include from."""
    if folder in tree.LIBRARY_FOLDERS:
        return tree.LIBRARY_FOLDERS[: tree.LIBRARY_FOLDERS.index(folder) + 1]
    return tree.CODE_FOLDERS if folder == "tests" else (*tree.LIBRARY_FOLDERS, folder)


def reachable(included_by, start):
    found, waiting = set(), [start]
    while waiting:
        for folder in included_by.get(waiting.pop(), ()):
            if folder not in found:
                found.add(folder)
                waiting.append(folder)
    return found


def circles(includes):
    """`includes`: pairs of a file and a file that it includes; both paths start at the root or at lockstep/."""
    included_by = {}
    for file, included in includes:
        folder, from_folder = file.rpartition("/")[0], included.rpartition("/")[0]
        if folder != from_folder:
            included_by.setdefault(folder, set()).add(from_folder)
    for folder in sorted(included_by):
        if folder in reachable(included_by, folder):
            yield f"{folder}: includes from a folder that includes from it: {', '.join(sorted(included_by[folder]))}"


def own_header(path, relative):
    """The name by which the library's sources include the file's own header; None if it has none."""
    if relative.parts[0] not in tree.LIBRARY_FOLDERS or path.suffix != ".cpp" or not path.with_suffix(".h").is_file():
        return None
    return "lockstep/" + relative.with_suffix(".h").as_posix()


def problem_of(path, folder, quote, included):
    if quote == '"':
        own = folder not in tree.LIBRARY_FOLDERS and "/" not in included and (path.parent / included).is_file()
        return None if own else f'"{included}" is relative; write <lockstep/folder/...>'
    parts = included.split("/")
    if parts[0] == "support" and folder != "tests":
        return f"<{included}> belongs to tests"
    if parts[0] != "lockstep":
        return None
    if included == UMBRELLA:
        return f"<{included}> is for users of the library, not for itself" if folder in tree.LIBRARY_FOLDERS else None
    return None if parts[1] in visible_from(folder) else f"<{included}> is not to the left of {folder}"


def check(root):
    includes = []
    for path in tree.files(root, tree.CODE_FOLDERS, tree.HEADERS + tree.SOURCES):
        relative = path.relative_to(root)
        awaited = own_header(path, relative)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match is None or relative.as_posix() == "models/lockstep.h":
                continue
            if awaited:
                first, awaited = awaited, None
                if match.groups() == ('"', first):
                    continue
                yield f'{relative}:{number}: the first include is not its own header; write #include "{first}"'
            if match[2].startswith("lockstep/"):
                includes.append((relative.as_posix(), match[2].removeprefix("lockstep/")))
            problem = problem_of(path, relative.parts[0], *match.groups())
            if problem:
                yield f"{relative}:{number}: {problem}"
        if awaited:
            yield f'{relative}: does not include its own header; write #include "{awaited}"'
    yield from circles(includes)


if __name__ == "__main__":
    tree.main(check)
