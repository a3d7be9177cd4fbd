"""Runs programs, each in its own process group, reads their output line by line and kills them at a deadline."""

import dataclasses
import os
import select
import signal
import subprocess
import time

MOST_KEPT = 8 << 20  # bytes of a program's output


@dataclasses.dataclass
class Ended:
    code: int = 0  # negative: number of the signal that killed it
    timed_out: bool = False
    stopped: bool = False  # `on_line` returned true
    seconds: float = 0.0
    lines: list = dataclasses.field(default_factory=list)

    def why(self):
        if self.timed_out:
            return f"had not ended after {self.seconds:.0f} s"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with exit status {self.code}"

    def verdict(self):
        if self.timed_out:
            return "timed out"
        return "crashed" if self.code < 0 else "failed" if self.code else "passed"

    def tail(self, count=12):
        return "\n".join(self.lines[-count:])


def end_group(process):
    """Kills the process and its children; returns its exit code."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.wait()


def follow(command, env, cwd, log, deadline, on_line=lambda line: False):
    """Runs a command and appends its output and errors to the file `log`. Kills it when time.monotonic() reaches
    `deadline()`, which is called repeatedly, or when `on_line` returns true for a line."""
    result = Ended()
    began = time.monotonic()
    try:
        process = subprocess.Popen([str(part) for part in command], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        return Ended(code=127, lines=[f"{command[0]} cannot be started: {error.strerror}"])
    with process.stdout as output, open(log, "ab") as kept:
        kept.write(f"$ {' '.join(map(str, command))}\n".encode())
        for line in lines_of(process, output, kept, deadline, result):
            result.lines.append(line)
            if on_line(line):
                result.stopped = True
                break
    result.timed_out = result.timed_out or (not result.stopped and not ends(process, deadline))
    result.code = end_group(process)
    result.seconds = time.monotonic() - began
    return result


def ends(process, deadline):
    try:
        process.wait(timeout=max(0, deadline() - time.monotonic()))
        return True
    except subprocess.TimeoutExpired:
        return False


def lines_of(process, output, kept, deadline, result):
    begun = b""
    room = MOST_KEPT
    while True:
        left = deadline() - time.monotonic()
        if left <= 0:
            result.timed_out = True
            return
        if not select.select([output], [], [], min(left, 0.5))[0]:
            if process.poll() is not None:  # a child process may keep the output open
                break
            continue
        data = os.read(output.fileno(), 65536)
        if not data:
            break
        kept.write(data[:room])
        kept.flush()
        room -= min(room, len(data))
        *whole, begun = (begun + data).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if begun:
        yield begun.decode(errors="replace")
