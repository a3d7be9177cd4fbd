#!/usr/bin/env python3
"""The top-level folder must contain exactly the project's folders and the few files that tools look for there."""

import tree

REQUIRED = {
    "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
    "bench", "kernels", "models", "runtime", "strategy", "tests", "tools",
}
# Build outputs and a developer's own settings: never under version control.
IGNORED = {"build", "compile_commands.json", "CMakeUserPresets.json"}


def check(root):
    present = {path.name for path in root.iterdir() if not path.name.startswith(".")} - IGNORED
    for name in sorted(present - REQUIRED):
        yield f"{name}: does not belong at the top level; move it into the folder of its subject"
    for name in sorted(REQUIRED - present):
        yield f"{name}: is missing at the top level"


if __name__ == "__main__":
    tree.main(check)
