"""Code that the checkers share: which files belong to the project, and how problems are reported."""

import pathlib
import sys

# A folder includes only from itself and the folders to its left; tools and bench share the right end.
LIBRARY_FOLDERS = ("runtime", "kernels", "strategy", "models")
CODE_FOLDERS = (*LIBRARY_FOLDERS, "tools", "bench", "tests")
HEADERS = (".h", ".cuh")
SOURCES = (".cpp", ".cu")


def files(root, folders, suffixes):
    """All files of these folders that end in one of the suffixes, in a fixed order."""
    for folder in folders:
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in suffixes and path.is_file())


def main(check):
    """Runs check(root), which yields a line for each problem, on the root directory that the command line
    names."""
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(f"usage: {sys.argv[0]} ROOT")
    problems = list(check(pathlib.Path(sys.argv[1])))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
