"""Predicts a step over several processes with bench/simulator, from a step measured on one process."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "simulator" / "steps"))
from derive import Net, resnet  # noqa: E402

TCP_SHARE = 0.94  # of a link's rate; headers take the rest
MESSAGE_US = 5  # processor time for a message; assumed, as in bench/simulator/machines/ethernet-1gbit.json
BUCKET_MB = 25  # lockstep's default
SHARED_MEMORY = {"latency_us": 10, "gigabytes_per_s": 5}  # assumed; negligible beside networks of 1 Gbit/s or less


def mlp():
    net = Net(1)
    for number, (inputs, outputs) in enumerate(((8000, 4000), (4000, 2000), (2000, 500), (500, 300), (300, 1))):
        net.begin(f"dense_{number}")
        net.dense(inputs, outputs)
    return net.blocks


# (name, multiply-adds, parameters) in the order of forward. ResNet-50 is version 1.5, without the biases of lockstep's
# convolutions (0.1 % of the parameters).
BLOCKS = {"resnet50": resnet((3, 4, 6, 3)), "mlp": mlp()}


def step_of(model, report):
    """The content of a step file. Time is distributed over the blocks by their multiply-adds, as in derive.py."""
    blocks = BLOCKS[model]
    work = [2 * macs for _, macs, _ in blocks]
    work[0] //= 2  # the first layer needs no gradient of its input
    compute, update = report["split_ms"]["compute"], report["split_ms"]["update"]
    ms = compute / (sum(work) + sum(macs for _, macs, _ in blocks))
    return {
        "name": model,
        "source": "lockstep bench of one process",
        "forward_ms": compute - ms * sum(work),
        "backward": [{"name": name, "ms": ms * part, "gradient_bytes": 4 * params}
                     for (name, _, params), part in zip(reversed(blocks), reversed(work))],
        "update_ms": update,
        "overhead_ms": max(0.0, report["step_ms"]["median"] - compute - update),
    }


def rate_bytes_per_s(rate_mbit):
    """TCP's throughput on a link of that rate."""
    return TCP_SHARE * rate_mbit * 1e6 / 8


def machine_of(name, bytes_per_s, latency_us, replicas=1):
    """A machine of hosts with `replicas` each, which sum in shared memory."""
    inside = {"inside": SHARED_MEMORY} if replicas > 1 else {}
    return {"name": name, "source": "bench/workers", "devices_per_node": replicas, **inside,
            "network": {"latency_us": latency_us, "gigabytes_per_s": bytes_per_s / 1e9}, "message_us": MESSAGE_US}


def predict(simulator, folder, step, machine, processes):
    """Runs the simulator and returns its prediction."""
    files = {"step": step, "machine": machine}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    arguments = [part for name in files for part in (f"--{name}", str(folder / f"{name}.json"))]
    done = subprocess.run([simulator, *arguments, "--algorithm", "exchange", "--devices", str(processes),
                           "--bucket-mb", str(BUCKET_MB), "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["predictions"][0]


def predict_links(simulator, folder, model, alone, link, rate_mbit, processes):
    """Predictions with the link computed from the rate and with the measured link."""
    step = step_of(model, alone)
    latency = link["half_round_trip_us"]
    links = {"rate": rate_bytes_per_s(rate_mbit), "measured": link["bytes_per_s"]}
    return {name: predict(simulator, folder, step, machine_of(name, bytes_per_s, latency), processes)
            for name, bytes_per_s in links.items()}
