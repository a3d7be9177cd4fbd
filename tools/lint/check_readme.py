#!/usr/bin/env python3
"""Everything the README names must exist: its two commands, every other script of tools/ in its examples, relative
links."""

import os
import re

import tree

COMMANDS = ("tools/quickstart", "tools/run-tests")
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def check(root):
    text = (root / "README.md").read_text()
    shell = [block for language, block in CODE_BLOCK.findall(text) if language == "sh"]
    lines = [line.strip() for block in shell for line in block.splitlines()]
    used = [line.split()[0] for line in lines if line.startswith("tools/")]
    if tuple(used[:2]) != COMMANDS:
        yield f"README.md: the first two commands are {used[:2]}, not {list(COMMANDS)}"
    for command in sorted(set(used)):
        if not (root / command).is_file() or not os.access(root / command, os.X_OK):
            yield f"README.md: {command} is no program that can be run"
    for target in LINK.findall(CODE_BLOCK.sub("", text)):
        if not (root / target).exists():
            yield f"README.md: the link to {target} leads nowhere"


if __name__ == "__main__":
    tree.main(check)
