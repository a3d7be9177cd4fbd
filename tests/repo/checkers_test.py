#!/usr/bin/env python3
"""Every checker of tools/lint must accept a good tree and report the problems of a bad one. Usage: checkers_test.py
LINT"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(sys.argv.pop(1))
ROOT = LINT.parent.parent
README = "```cpp\n[](int) {}\n```\n```sh\ntools/quickstart\ntools/run-tests\n```\n[ops](kernels/README.md) [web](https://example.org)\n"


class Checkers(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        for name in ("CMakeLists.txt", "CMakePresets.json", "LICENSE"):
            self.write(name, "")
        for folder in ("runtime", "strategy", "models", "tests", "bench"):
            (self.root / folder).mkdir()
        self.write("kernels/README.md", "")
        self.write("README.md", README)
        self.write(".clang-format", (ROOT / ".clang-format").read_text())
        for script in ("tools/quickstart", "tools/run-tests"):
            self.write(script, "#!/bin/sh\n").chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def problems(self, subject):
        """The lines that the checker prints; checks that its exit status agrees with them."""
        run = subprocess.run(
            [sys.executable, "-B", LINT / f"check_{subject}.py", self.root], capture_output=True, text=True
        )
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 1 if run.stdout else 0)
        return run.stdout.splitlines()

    def assert_finds(self, subject, *expected):
        """Expects one problem for each text, in this order."""
        found = self.problems(subject)
        self.assertEqual(len(found), len(expected), found)
        for line, text in zip(found, expected):
            self.assertIn(text, line)

    def test_top_level(self):
        self.write(".hidden/file", "")
        self.write("build/release/file", "")
        self.assert_finds("top_level")
        self.write("notes.txt", "")
        self.write("utils/file", "")
        (self.root / "LICENSE").unlink()
        self.assert_finds("top_level", "notes.txt: does not belong", "utils: does not belong", "LICENSE: is missing")

    def test_layers(self):
        self.write("kernels/scan/good.cpp", "#include <vector>\n#include <lockstep/runtime/core/error.h>\n")
        self.write("models/lockstep.h", "#include <lockstep/lockstep.h>\n")
        self.write("tools/cli/plot.h", "")
        self.write("tools/cli/plot.cpp", '#include "plot.h"\n')
        self.write("tests/good.cpp", "#include <support/x.h>\n#include <lockstep/models/x.h>\n")
        self.write("models/own.h", "")
        self.write("models/own.cpp", '#include "lockstep/models/own.h"\n\n#include <vector>\n')
        self.assert_finds("layers")
        self.write("runtime/bad.h", "\n#  include <lockstep/kernels/update/update.h>\n")
        self.write("kernels/bad.cu", '#include "update.h"\n')
        self.write("strategy/bad.cpp", "#include <lockstep/lockstep.h>\n#include <support/x.h>\n")
        self.write("tools/cli/bad.cpp", '#include <lockstep/bench/x.h>\n#include "../cli/plot.h"\n')
        self.assert_finds(
            "layers", "runtime/bad.h:2", "kernels/bad.cu:1", "strategy/bad.cpp:1", "strategy/bad.cpp:2",
            "tools/cli/bad.cpp:1", "tools/cli/bad.cpp:2",
        )

    def test_circles(self):
        self.write("kernels/scan/a.h", "#include <lockstep/kernels/executor/a.h>\n#include <lockstep/kernels/kernel.h>\n")
        self.write("kernels/executor/a.h", "#include <lockstep/runtime/core/error.h>\n")
        self.assert_finds("layers")
        self.write("kernels/op/a.h", "#include <lockstep/kernels/scan/a.h>\n")
        self.write("kernels/executor/b.h", "#include <lockstep/kernels/op/a.h>\n")
        self.assert_finds("layers", "kernels/executor: includes from", "kernels/op: includes from", "kernels/scan: ")

    def test_circles_of_folders_of_every_depth(self):
        self.write("strategy/comm/a.h", "#include <lockstep/runtime/core/error.h>\n")
        self.write("strategy/comm/local/a.h", "#include <lockstep/strategy/comm/a.h>\n")
        self.write("strategy/comm/local/mpi/a.h", "#include <lockstep/strategy/comm/local/a.h>\n")
        self.assert_finds("layers")
        self.write("strategy/comm/b.h", "#include <lockstep/strategy/comm/local/mpi/a.h>\n")
        self.assert_finds("layers", "strategy/comm: includes from", "strategy/comm/local: ", "strategy/comm/local/mpi: ")
        self.write("strategy/comm/b.h", "")
        self.assert_finds("layers")
        self.write("strategy/b.h", "#include <lockstep/strategy/comm/a.h>\n")
        self.write("strategy/comm/b.h", "#include <lockstep/strategy/b.h>\n")
        self.assert_finds("layers", "strategy: includes from", "strategy/comm: includes from")

    def test_own_headers(self):
        for name in ("late", "angled", "none"):
            self.write(f"models/{name}.h", "")
        self.write("models/angled.cpp", "#include <lockstep/models/angled.h>\n")
        self.write("models/late.cpp", '#include <vector>\n#include "lockstep/models/late.h"\n')
        self.write("models/none.cpp", "int none;\n")
        self.assert_finds("layers", "models/angled.cpp:1: the first", "models/late.cpp:1: the first",
                          "models/late.cpp:2: ", "models/none.cpp: does not include")

    def test_sizes(self):
        self.write("runtime/header.h", "\n" * 250)
        self.write("tests/source.cpp", "\n" * 500)
        self.assert_finds("sizes")
        self.write("runtime/header.h", "\n" * 251)
        self.write("tests/source.cpp", "\n" * 501)
        self.assert_finds("sizes", "runtime/header.h: 251", "tests/source.cpp: 501")

    def test_exits(self):
        good = (
            'void abort(const std::string& why);\nbarrier.abort("exit(1)");\n// exit(1)\n/* abort()\n*/\nmember->abort();\n'
            "on_exit(1);\nGroup::abort(why);\n"
        )
        self.write("strategy/good.cpp", good)
        self.write("tools/cli/main.cpp", "std::exit(2);\n")
        self.assert_finds("exits")
        self.write("runtime/bad.cpp", "/*\n*/ std::exit(1);\n::_exit(2);\nabort();\nstd::terminate();\n")
        expected = ("bad.cpp:2: calls exit", "bad.cpp:3: calls _exit", "bad.cpp:4: calls abort", "bad.cpp:5: calls term")
        self.assert_finds("exits", *expected)

    def test_readme(self):
        self.assert_finds("readme")
        (self.root / "tools/run-tests").chmod(0o644)
        self.write("README.md", README.replace("tools/quickstart\n", "tools/start\n").replace("kernels/README", "ops"))
        self.assert_finds("readme", "first two commands", "tools/run-tests", "tools/start", "ops.md")

    def test_words(self):
        good = (
            "if value is None: return  # crewless, MeetingsTest, foretold\n# null when there is none; tells 1 and 2 apart\n"
            "remainder, gone, ongoing\n"
        )
        self.write("tools/good.py", good)
        self.write("tests/fuzz/corpus/idx/goes on", "told")
        self.assert_finds("words")
        self.write("README.md", README + "Whoever is\ntold waits.\n")
        self.write("strategy/bad.cpp", "class Crew;\nvoid meet_all();  // so many, likewise\n")
        self.write("tools/run-tests", "# it goes\n# on, the color is none\n")
        self.assert_finds(
            "words", "README.md:9: 'Whoever'", "README.md:10: 'told'", "strategy/bad.cpp:1: 'Crew'",
            "strategy/bad.cpp:2: 'meet'; write: barrier", "'so many'", "'likewise'", "tools/run-tests:1: 'goes on'",
            "'is none'",
        )

    def test_contract(self):
        test = (
            "// semantics 2.5, 12.3: 24/15 = 1.6;\n// 3.6: inside a replica\nstatic_assert(true);\n"
            "// TF case 31\nTEST_P(Values, Gather) {\n  f();  // Probe P4\n  // Semantics 2.6\n}\n"
        )
        table = "| 2.5 | a | `strategy/values_test` static_assert |\n| 2.6 | b | `strategy/values_test` Gather |\n"
        rest = "".join(f"| {row} | c | `strategy/values_test` static_assert |\n" for row in ("12.3", "3.6"))
        rest += "".join(f"| {row} | d | `strategy/values_test` Gather |\n" for row in ("31", "P4"))
        self.write("tests/strategy/values_test.cpp", test)
        self.write("tests/README.md", table + rest + "| 2.14 | e | there are no clusters |\n")
        self.assert_finds("contract")
        self.write("tests/README.md", table.replace("Gather", "Reduce") + rest.replace("| 31 |", "| 32 |"))
        self.assert_finds(
            "contract", "row 2.6 names Reduce of strategy/values_test", "row 2.6 does not name Gather", "no row 31",
            "row 32 names Gather",
        )

    def test_format(self):
        self.write("runtime/good.cpp", "int main() { return 0; }\n")
        version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
        if "version 14." not in version:
            self.skipTest("needs clang-format 14")
        self.assert_finds("format")
        self.write("kernels/bad.h", "int  f( );\n")
        self.assertIn("kernels/bad.h:1", self.problems("format")[0])


if __name__ == "__main__":
    unittest.main()
