"""Simulated hosts on one machine: network namespaces on a bridge, for tests and benchmarks of programs that mpirun
starts.

    with Hosts(2, rate_mbit=1000) as hosts:
        subprocess.run(["mpirun", *hosts.mpirun_options(slots=2), "-np", "4", "hostname"])

Each host has its own name, address and network, and shares everything else with the machine: files, processors, memory.
Needs root. tc sets rates and latencies; if the kernel lacks tc's latency (netem), a relay adds it (delay.py).
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from delay import Delay

PROGRAMS = ("ip", "tc", "unshare", "hostname")
NETWORKS = 4096  # with 16 addresses each, in 10.77.0.0/16
MOST_HOSTS = 13  # the network's own, the bridge's and the broadcast address are taken
# Burst of tc's token bucket filter. The bucket is refilled when a timer fires, which is not immediate.
BURST_S = 0.5e-3
LEAST_BURST = 128 << 10  # more than the largest segment that TCP passes on
LARGEST_FRAME = 32 << 10  # on links with a latency: the relay's work depends on the number of frames
QUEUE = 4 << 20  # bytes that may wait for a link before packets are dropped, as in a switch
MOST_DELAYED = 10000  # packets in flight at once

AGENT = """#!/bin/sh
# Stands in for ssh: HOST COMMAND...
case $1 in
{cases}
  *) echo "no host has the address $1" >&2; exit 255 ;;
esac
shift
exec ip netns exec "$space" unshare --uts /bin/sh -c 'hostname "$0" && eval "$1"' "$name" "$*"
"""


class NotAllowed(RuntimeError):
    """Hosts cannot be created here; the message is the reason."""


def run(*command):
    """Runs one of PROGRAMS and returns its output."""
    try:
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    except OSError as error:
        raise NotAllowed(f"{command[0]}: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        raise NotAllowed(f"{' '.join(map(str, command))}: {error.stderr.strip()}") from error


class Hosts(contextlib.AbstractContextManager):
    """Creates `count` hosts on entry, and removes them and their processes at the end of the block, also after an
    exception or SIGTERM. `rate_mbit` limits what each host can send, and what it can receive at the same time;
    `latency_ms` delays each packet between hosts; `congestion_control` is TCP's algorithm by its Linux name ("reno" is
    always available); None keeps the machine's default. Entering raises NotAllowed where hosts cannot be created."""

    interface = "eth0"  # in each host

    def __init__(self, count, rate_mbit=None, latency_ms=None, congestion_control=None):
        if not 1 <= count <= MOST_HOSTS:
            raise ValueError(f"1 to {MOST_HOSTS} hosts, not {count}")
        self.rate_mbit = rate_mbit
        self.latency_ms = latency_ms
        self.congestion_control = congestion_control
        self.names = [f"host{number}" for number in range(count)]
        self.network = self.addresses = self.agent = None
        self._number = None
        self._has_netem = False
        self._made = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as made:
            # Set first, so that it stays in force until all is removed.
            before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
            made.callback(signal.signal, signal.SIGTERM, before)
            self._claim_network(made)
            for number in range(len(self.names)):
                self._make_host(number, made)
            self._write_agent(made)
            self._made = made.pop_all()
        return self

    def __exit__(self, *_):
        self._made.close()

    def _claim_network(self, made):
        """Claims a network by creating a bridge, whose name can be taken only once."""
        for attempt in range(NETWORKS):
            number = (os.getpid() + attempt) % NETWORKS
            bridge = f"lockstep{number}"
            if pathlib.Path("/sys/class/net", bridge).exists():
                continue
            try:
                run("ip", "link", "add", bridge, "type", "bridge")
            except NotAllowed as error:
                if "File exists" in str(error):
                    continue
                raise
            break
        else:
            raise NotAllowed("all networks are taken")
        made.callback(remove, "ip", "link", "del", bridge)
        self._number = number
        third, fourth = divmod(16 * number, 256)
        self.network = f"10.77.{third}.{fourth}/28"
        self.addresses = [f"10.77.{third}.{fourth + 2 + host}" for host in range(len(self.names))]
        run("ip", "address", "add", f"10.77.{third}.{fourth + 1}/28", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        self._has_netem = bool(self.latency_ms) and has_netem(bridge)

    def _make_host(self, number, made):
        space, link = self.namespace(number), self._link(number)
        run("ip", "netns", "add", space)
        made.callback(remove, "ip", "netns", "del", space)
        made.callback(end_all_in, space)
        if self.latency_ms and not self._has_netem:
            self._make_delayed_link(number, made)
        else:
            run("ip", "link", "add", link, "type", "veth", "peer", "name", self.interface, "netns", space)
            made.callback(remove, "ip", "link", "del", link)
        run("ip", "link", "set", link, "master", f"lockstep{self._number}", "up")
        inside = ("ip", "-n", space)
        run(*inside, "address", "add", self.addresses[number] + "/28", "dev", self.interface)
        run(*inside, "link", "set", self.interface, "up")
        run(*inside, "link", "set", "lo", "up")
        if self.congestion_control:
            setting = "/proc/sys/net/ipv4/tcp_congestion_control"
            run("ip", "netns", "exec", space, "sh", "-c", f"echo {self.congestion_control} > {setting}")
        self._shape(number)

    def _shape(self, number):
        """Sets the rate in both directions, and the latency of packets that the host sends."""
        on_link = ("tc", "qdisc", "add", "dev", self._link(number))
        in_host = ("tc", "-n", self.namespace(number), "qdisc", "add", "dev", self.interface)
        if self._has_netem:
            run(*in_host, "root", "handle", "1:", "netem", "delay", f"{self.latency_ms}ms", "limit", MOST_DELAYED)
        if self.rate_mbit:
            limit = ("tbf", "rate", f"{self.rate_mbit}mbit", "limit", QUEUE, "burst",
                     max(LEAST_BURST, int(self.rate_mbit * 1e6 / 8 * BURST_S)))
            run(*on_link, "root", *limit)
            run(*in_host, *(["parent", "1:1"] if self._has_netem else ["root"]), *limit)

    def _make_delayed_link(self, number, made):
        link, end = self._link(number), f"lockend{self._number}-{number}"
        try:
            made.enter_context(Delay(end, link, self.latency_ms / 1e3))
        except OSError as error:
            raise NotAllowed(f"/dev/net/tun: {error.strerror}") from error
        for name in end, link:
            run("ip", "link", "set", name, "mtu", LARGEST_FRAME)
        run("ip", "link", "set", end, "netns", self.namespace(number), "name", self.interface)

    def _link(self, number):
        return f"lockstep{self._number}-{number}"

    def _write_agent(self, made):
        folder = made.enter_context(tempfile.TemporaryDirectory(prefix="hosts-"))
        cases = [f"  {address}) space={self.namespace(number)}; name={self.names[number]} ;;"
                 for number, address in enumerate(self.addresses)]
        self.agent = pathlib.Path(folder, "agent")
        self.agent.write_text(AGENT.format(cases="\n".join(cases)))
        self.agent.chmod(0o700)

    def namespace(self, number):
        """The name of the host's namespace for `ip netns`."""
        return f"lockstep{self._number}-host{number}"

    def command_in(self, number, command):
        """The command that runs `command`, a list, on a host."""
        return ["ip", "netns", "exec", self.namespace(number), *map(str, command)]

    def set_network(self, number, up):
        """Disconnects a host's network, or reconnects it."""
        run("ip", "link", "set", self._link(number), "up" if up else "down")

    def mpirun_options(self, slots=1):
        """The options with which mpirun, started outside, runs `slots` processes on each host, with TCP between and
        inside hosts."""
        options = {"plm_rsh_agent": self.agent, "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": self.network,
                   "btl": "tcp,self", "btl_tcp_if_include": self.network}
        listed = [part for name, value in options.items() for part in ("--mca", name, str(value))]
        return [*listed, "-H", ",".join(f"{address}:{slots}" for address in self.addresses)]


def has_netem(interface):
    """Whether tc supports delays (netem). Tries it on an interface, whose queue discipline is removed afterwards."""
    try:
        run("tc", "qdisc", "add", "dev", interface, "root", "netem", "delay", "1ms")
    except NotAllowed as error:
        if "qdisc kind is unknown" in str(error):
            return False
        raise
    run("tc", "qdisc", "del", "dev", interface, "root")
    return True


def remove(*command):
    """Runs a command that removes something. Ignores failures, so that the rest is removed, too."""
    with contextlib.suppress(NotAllowed):
        run(*command)


def end_all_in(space):
    """Kills the processes in a namespace."""
    with contextlib.suppress(NotAllowed):
        for process in run("ip", "netns", "pids", space).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)


def allowed():
    """(whether hosts can be created here, reason why not). Tries to create one."""
    if os.geteuid() != 0:
        return False, "network namespaces need root"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return False, f"not installed: {', '.join(missing)}"
    try:
        with Hosts(1, rate_mbit=1000, latency_ms=1, congestion_control="reno") as hosts:
            run(hosts.agent, hosts.addresses[0], "true")
    except NotAllowed as error:
        return False, str(error)
    return True, ""
