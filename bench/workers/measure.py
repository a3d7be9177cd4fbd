"""Runs lockstep, its peer and microbenchmarks of links and processors in several processes, and returns their
reports."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / "peers"
sys.path.insert(0, str(PEERS))
from reports import report_of, speed_report_of  # noqa: E402

PEER = PEERS / "pytorch_ddp.py"
LINK = HERE / "link.py"
LIMIT_S = 1800  # of any single run
LINK_S = 2  # approximate duration of measuring a link

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # In containers a process must not read another one's memory: MPI has to copy messages twice.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    # A waiting process yields its core to the process that it waits for.
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
# Pins each process that mpirun starts to its worker's cores, from a list like 0,1:2,3.
PIN = 'cores=$(echo "$1" | cut -d : -f $((OMPI_COMM_WORLD_RANK + 1))); shift; exec taskset -c "$cores" "$@"'


class ThisMachine:
    """Replaces Hosts when processes communicate through this machine's memory and loopback."""

    rate_mbit = None
    interface = "lo"

    def __init__(self, count):
        self.addresses = ["127.0.0.1"] * count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def command_in(self, _, command):
        return [str(part) for part in command]

    def mpirun_options(self):
        return []


def cores_of(processes):
    """A core list for each process, for taskset: equal parts of this machine's cores, shared if there are too few."""
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // processes)
    return [",".join(str(cores[(rank * each + i) % len(cores)]) for i in range(each)) for rank in range(processes)]


def run_together(commands):
    """Runs the commands concurrently and returns their outputs. If one fails or takes longer than LIMIT_S, ends all of
    them and exits."""
    environment = {**ENVIRONMENT, **os.environ}
    started = [subprocess.Popen([str(part) for part in command], env=environment, stdout=subprocess.PIPE, text=True,
                                start_new_session=True) for command in commands]
    # Each output is read by a thread of its own: a full pipe would hold its process up.
    with concurrent.futures.ThreadPoolExecutor(len(started)) as threads:
        outputs = {threads.submit(process.communicate): process for process in started}
        try:
            for done in concurrent.futures.as_completed(outputs, LIMIT_S):
                if outputs[done].returncode != 0:
                    sys.exit(f"failed with {outputs[done].returncode}: {' '.join(outputs[done].args)}")
        except TimeoutError:
            sys.exit(f"not done after {LIMIT_S} s: {' '.join(started[0].args)}")
        finally:
            for process in started:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL)
    return [done.result()[0] for done in outputs]


def mpirun(hosts, command):
    count = len(hosts.addresses)
    pinned = ["sh", "-c", PIN, "sh", ":".join(cores_of(count)), *command]
    return report_of(run_together([[*MPIRUN, *hosts.mpirun_options(), "-np", count, *pinned]])[0])


def mpirun_version():
    return subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def steps_options(options):
    return ["--steps", options.steps, "--warmup", options.warmup, "--json"]


def lockstep(hosts, options, model, batch):
    return mpirun(hosts, [options.lockstep, "bench", "--strategy", "multi-worker", "--model", model, "--batch-size",
                          batch, *steps_options(options)])


def pytorch(hosts, options, model, batch):
    count = len(hosts.addresses)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    master = f"{hosts.addresses[0]}:{port}"
    commands = [hosts.command_in(rank, ["taskset", "-c", cores, options.python, PEER, "--model", model, "--processes",
                                        count, "--rank", rank, "--master", master, "--interface", hosts.interface,
                                        "--batch-size", batch, *steps_options(options)])
                for rank, cores in enumerate(cores_of(count))]
    return speed_report_of(run_together(commands)[0])


def exchange_alone(hosts, options, blocks):
    """Exchanges the gradients of the blocks, in the order of backward, between the processes without computing."""
    elements = ",".join(str(params) for _, _, params in reversed(blocks) if params)
    return mpirun(hosts, [options.exchange, "--elements", elements, "--times", options.steps])


def waiting_step(hosts, options, step, replicas):
    """Runs the step of a step file, with `replicas` on each host."""
    return mpirun(hosts, [options.waiting_step, "--step", step, "--replicas", replicas, "--steps", options.steps,
                          "--warmup", options.warmup])


def step_alone(options, model, batch, count):
    """Runs `count` independent processes concurrently, each with the work of one group member; returns the slowest
    report."""
    command = [options.lockstep, "bench", "--replicas", "1", "--model", model, "--batch-size", batch // count,
               *steps_options(options)]
    outputs = run_together([["taskset", "-c", cores, *command] for cores in cores_of(count)])
    return max(map(speed_report_of, outputs), key=lambda report: report["step_ms"]["median"])


def link(hosts):
    """Measures TCP between the first two hosts."""
    megabytes = max(16, int((hosts.rate_mbit or 8000) / 8 * LINK_S))
    with subprocess.Popen(hosts.command_in(0, [sys.executable, LINK, "listen", hosts.addresses[0]]),
                          stdout=subprocess.PIPE, text=True) as listener:
        try:
            port = listener.stdout.readline().strip()
            return report_of(run_together([hosts.command_in(1, [sys.executable, LINK, "connect", hosts.addresses[0],
                                                                port, megabytes])])[0])
        finally:
            listener.kill()
