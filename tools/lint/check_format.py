#!/usr/bin/env python3
"""The project's C++ and CUDA files must be formatted with clang-format 14, as Debian 12 has it. Exits with 77 if there is
only another version, which would format some of them differently."""

import shutil
import subprocess
import sys

import tree


def check(root):
    program = shutil.which("clang-format")
    if program is None:
        sys.exit("clang-format is not installed; tools/setup installs it")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if "version 14." not in version:
        print(f"needs clang-format 14, found {version.strip()}")
        sys.exit(77)
    paths = list(tree.files(root, tree.CODE_FOLDERS, tree.HEADERS + tree.SOURCES))
    if not paths:
        return
    run = subprocess.run([program, "--style=file", "--dry-run", "-Werror", *paths], capture_output=True, text=True)
    if run.returncode != 0:
        # Keep one line for each place; the source lines that clang-format quotes add little.
        yield from sorted({line for line in run.stderr.splitlines() if ": error:" in line} or {run.stderr.strip()})
        yield "mend with: clang-format -i FILE..."


if __name__ == "__main__":
    tree.main(check)
