"""Runs `lockstep train` on several simulated hosts, which are network namespaces: see bench/workers/hosts.py."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from workers_test import PROGRAM, SMALL, TRAIN, Case, command

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench" / "workers"))
from hosts import Hosts, allowed  # noqa: E402

LINK = [sys.executable, "-B", pathlib.Path(__file__).parents[2] / "bench" / "workers" / "link.py"]
SKIPPED = 77  # as in CMakeLists.txt


class HostsCase(Case):
    def make_hosts(self, count, **network):
        hosts = Hosts(count, **network)
        self.addCleanup(hosts.__exit__)
        return hosts.__enter__()


class Network(HostsCase):
    def test_takes_the_time_and_has_the_rate_that_it_is_given(self):
        for latency_ms in (3, 12):
            hosts = self.make_hosts(2, rate_mbit=100, latency_ms=latency_ms)
            with subprocess.Popen(hosts.command_in(0, [*LINK, "listen", hosts.addresses[0]]), text=True,
                                  stdout=subprocess.PIPE) as listener:
                asked = [*LINK, "connect", hosts.addresses[0], listener.stdout.readline().strip(), "4"]
                done = subprocess.run(hosts.command_in(1, asked), check=True, capture_output=True, text=True,
                                      timeout=100)
            found = json.loads(done.stdout)
            self.assertGreaterEqual(found["half_round_trip_us"], latency_ms * 1e3)
            self.assertLess(found["bytes_per_s"], 100e6 / 8 * 1.1)


class Train(HostsCase):
    def test_gives_what_one_process_gives(self):
        hosts = self.make_hosts(2, rate_mbit=1000, latency_ms=2)
        arguments = ["--epochs", "2", "--history"]
        done = self.run_workers(command(2, "--replicas", "2", *arguments, self.path / "hosts.json",
                                        options=hosts.mpirun_options()))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 replicas", done.stderr)
        alone = ["train", *TRAIN[3:], *SMALL, "--replicas", "4", *arguments, str(self.path / "alone.json")]
        subprocess.run([PROGRAM, *alone], check=True, capture_output=True, timeout=200)
        by_hosts = json.loads((self.path / "hosts.json").read_text())
        expected = json.loads((self.path / "alone.json").read_text())
        for a, b in zip(by_hosts["loss"], expected["loss"], strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5)


class Fail(HostsCase):
    OPTIONS = {
        # Time that the launcher waits before SIGTERM, and again before SIGKILL, when it ends all processes.
        "odls_base_sigkill_timeout": 5,
        # Options that let the launcher detect a host's lost network.
        "oob_tcp_keepalive_time": 1,
        "oob_tcp_keepalive_intvl": 1,
        "oob_tcp_keepalive_probes": 3,
    }

    def start_on(self, hosts, *arguments):
        options = [part for name, value in self.OPTIONS.items() for part in ("--mca", name, str(value))]
        return self.start_marked(len(hosts.names), *arguments, options=[*hosts.mpirun_options(), *options])

    def test_a_host_whose_process_is_killed_is_named_by_all(self):
        launcher, workers = self.start_on(self.make_hosts(3))
        os.kill(workers[1], signal.SIGKILL)
        self.ends(launcher, (0, 2), "worker 1 (host host1)", "does not answer")

    def test_a_host_that_loses_its_network_is_named_by_all_others(self):
        hosts = self.make_hosts(3)
        launcher, _ = self.start_on(hosts)
        hosts.set_network(1, up=False)
        self.ends(launcher, (0, 2), "worker 1 (host host1)", "does not answer")


if __name__ == "__main__":
    possible, reason = allowed()
    if not possible:
        print(f"skipped, for hosts cannot be made here: {reason}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
