"""A GoogleTest program, run so that every case gets a verdict of its own.

It is run whole. After a crash, a hang or an error that CUDA returns to everyone from then on, a new process runs the cases
behind the one that it happened in. A case that such an error fails while others ran before it in the process is run again:
one of those may have caused it."""

import os
import re
import time

import processes

RUN = re.compile(r"\[ RUN      \] (\S+)$")
END = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \((\d+) ms\)$")
VERDICT = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
NO_GPU = "no GPU: every test is skipped"  # tests/support/devices.cpp
WATCHDOG = "timed out after"  # tests/support/watchdog.cpp
STICKY = re.compile("cudaError(IllegalAddress|LaunchTimeout|Assert|HardwareStackError|IllegalInstruction|MisalignedAddress"
                    "|InvalidAddressSpace|InvalidPc|LaunchFailure|Contained|ECCUncorrectable|NvlinkUncorrectable)"
                    "|an illegal memory access was encountered|unspecified launch failure|misaligned address"
                    "|an illegal instruction was encountered|device-side assert triggered|the launch timed out")


class Program:
    def __init__(self, command, env, cwd, log, case_limit_s, budget, report):
        """`report(case, verdict, seconds, detail)` is called for each case as it ends."""
        self.command = command
        # A little before the limit here: the program's own watchdog says what hangs.
        self.env = {**env, "LOCKSTEP_TEST_LIMIT_S": str(max(1, int(0.8 * case_limit_s)))}
        self.cwd = cwd
        self.log = log
        self.case_limit_s = case_limit_s
        self.budget = budget
        self.report = report

    def start(self, options, on_line, deadline):
        flags = os.path.join(self.cwd, "flags")
        with open(flags, "w") as file:  # there may be more cases than a command line takes
            file.write("\n".join(options))
        return processes.follow([self.command, f"--gtest_flagfile={flags}"], self.env, self.cwd, self.log, deadline, on_line)

    def cases(self, filter_):
        end = time.monotonic() + self.case_limit_s
        listed = self.start(["--gtest_list_tests", f"--gtest_filter={filter_}"], lambda line: False, lambda: end)
        if listed.verdict() != "passed":
            return None, listed
        cases, suite = [], ""
        for line in listed.lines:
            name = line.split("#")[0].rstrip()
            if name.startswith("  "):
                cases.append(suite + name.strip())
            elif name.endswith("."):
                suite = name
        return [case for case in cases if "DISABLED_" not in case], listed

    def run(self, cases):
        left = list(cases)
        while left:
            if self.budget.spent():
                for case in left:
                    self.report(case, "not begun", 0, "")
                return
            left = Pass(self, left).run()


class Pass:
    """One process, and what it says of the cases that it was given."""

    def __init__(self, program, cases):
        self.program = program
        self.cases = cases
        self.ended = set()
        self.running = None
        self.said = []  # since the case began
        self.again = False  # the case that ended last has to be run again
        self.no_gpu = False
        self.since = time.monotonic()

    def deadline(self):
        return min(self.since + self.program.case_limit_s, self.program.budget.end)

    def on_line(self, line):
        begun, ended = RUN.search(line), END.search(line)
        if begun:
            self.running, self.said, self.since = begun[1], [], time.monotonic()
        elif ended and ended[2] == self.running:
            return self.end_case(VERDICT[ended[1]], int(ended[3]) / 1000)
        else:
            self.said.append(line)
            self.no_gpu = self.no_gpu or line == NO_GPU
        return False

    def end_case(self, verdict, seconds):
        """Whether the process is of no more use."""
        case, said = self.running, "\n".join(self.said)
        self.running, self.since = None, time.monotonic()
        sticky = verdict == "failed" and STICKY.search(said) is not None
        self.again = sticky and bool(self.ended)
        if not self.again:
            self.settle(case, verdict, seconds, said if verdict != "passed" else "")
        return sticky

    def settle(self, case, verdict, seconds, detail):
        self.ended.add(case)
        self.program.report(case, verdict, seconds, detail)

    def run(self):
        """The cases that are left for another process."""
        ended = self.program.start([f"--gtest_filter={':'.join(self.cases)}"], self.on_line, self.deadline)
        said = "\n".join(self.said[-60:])
        if self.running:
            hung = ended.timed_out or WATCHDOG in said
            self.settle(self.running, "timed out" if hung else "crashed", time.monotonic() - self.since,
                        f"the process {ended.why()}\n{said}")
        elif self.no_gpu and not self.ended:
            for case in self.cases:
                self.settle(case, "skipped", 0, NO_GPU)
        elif not self.ended and not self.again and not self.program.budget.spent():  # it would not come further the next time
            for case in self.cases:
                self.settle(case, "timed out" if ended.timed_out else "crashed", 0,
                            f"no case began: the process {ended.why()}\n{said}")
        left = [case for case in self.cases if case not in self.ended]
        if not left and not ended.stopped and ended.code not in (0, 1) and not self.running:
            self.program.report("(the program's end)", ended.verdict(), 0, f"the process {ended.why()}\n{said}")
        return left
