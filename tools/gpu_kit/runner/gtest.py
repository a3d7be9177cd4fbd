"""Runs a GoogleTest program so that every case gets its own verdict.

All cases run in one process. After a crash, a hang, or a CUDA error that makes all later calls fail, a new process runs
the cases after the one where it happened. If that case failed with such an error and others ran before it in the
process, it is run again: one of them may have caused the error."""

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
        # Below the limit of this runner, so that the program's own watchdog can report what hangs.
        self.env = {**env, "LOCKSTEP_TEST_LIMIT_S": str(max(1, int(0.8 * case_limit_s)))}
        self.cwd = cwd
        self.log = log
        self.case_limit_s = case_limit_s
        self.budget = budget
        self.report = report

    def start(self, options, on_line, deadline):
        flags = os.path.join(self.cwd, "flags")
        with open(flags, "w") as file:  # a command line may be too short for all cases
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
    """One process, and its output about the cases to run in it."""

    def __init__(self, program, cases):
        self.program = program
        self.cases = cases
        self.ended = set()
        self.running = None
        self.said = []  # output since the case began
        self.again = False  # run the case that ended last again
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
        """Records a verdict. Returns whether the process can no longer be used."""
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
        """Runs the process. Returns the cases that are left for another process."""
        ended = self.program.start([f"--gtest_filter={':'.join(self.cases)}"], self.on_line, self.deadline)
        said = "\n".join(self.said[-60:])
        if self.running:
            hung = ended.timed_out or WATCHDOG in said
            self.settle(self.running, "timed out" if hung else "crashed", time.monotonic() - self.since,
                        f"the process {ended.why()}\n{said}")
        elif self.no_gpu and not self.ended:
            for case in self.cases:
                self.settle(case, "skipped", 0, NO_GPU)
        elif not self.ended and not self.again and not self.program.budget.spent():  # a new one would fail too
            for case in self.cases:
                self.settle(case, "timed out" if ended.timed_out else "crashed", 0,
                            f"no case began: the process {ended.why()}\n{said}")
        left = [case for case in self.cases if case not in self.ended]
        if not left and not ended.stopped and ended.code not in (0, 1) and not self.running:
            self.program.report("(the program's end)", ended.verdict(), 0, f"the process {ended.why()}\n{said}")
        return left
