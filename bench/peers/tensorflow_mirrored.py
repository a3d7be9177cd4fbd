#!/usr/bin/env python3
"""Trains a Keras model under TensorFlow's MirroredStrategy and reports its speed.

The peer of `lockstep bench`: the same network, optimizer, loss and batch split, as a TensorFlow user would write them:
a custom loop whose step is a tf.function. Replicas are on logical CPUs or, with --device cuda, on GPUs. Messages go to
stderr; with --json the last line of stdout is one JSON object.
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import tensorflow as tf

import peer
from tensorflow_models import WORKLOADS


def make_devices(args):
    """Creates the logical devices and returns their names. Logical CPUs share TensorFlow's threads: when all compute,
    each has its part of the cores."""
    cores = len(os.sched_getaffinity(0))
    tf.config.threading.set_intra_op_parallelism_threads(max(1, cores // args.replicas))
    tf.config.threading.set_inter_op_parallelism_threads(args.replicas)
    if args.device == "cuda":
        tf.config.experimental.enable_tensor_float_32_execution(args.tf32)
        return [device.name for device in tf.config.list_logical_devices("GPU")[:args.replicas]]
    tf.config.set_visible_devices([], "GPU")
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * args.replicas)
    return [device.name for device in tf.config.list_logical_devices("CPU")[:args.replicas]]


def make_step(strategy, workload, model, optimizer, batch_size):
    def replica_step(inputs, labels):
        with tf.GradientTape() as tape:
            logits = tf.cast(model(inputs[0] if len(inputs) == 1 else list(inputs), training=True), tf.float32)
            loss = tf.nn.compute_average_loss(workload.losses(labels, logits), global_batch_size=batch_size)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    @tf.function
    def step(batch):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=batch), axis=None)

    return step


def measure(args):
    start_s = peer.process_start_s()
    strategy = tf.distribute.MirroredStrategy(make_devices(args))
    print(f"tensorflow {tf.__version__}: {args.model}, {args.replicas} replica(s), global batch {args.batch_size}, "
          f"{args.precision}", file=sys.stderr)
    keras.utils.set_random_seed(peer.SEED)
    if args.precision == "bfloat16":
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    workload = WORKLOADS[args.model]
    with strategy.scope():
        model = workload.make_model()
        optimizer = workload.make_optimizer()
        optimizer.build(model.trainable_variables)
    params = model.count_params()
    assert params == workload.params, f"{args.model} has {params} parameters, not {workload.params}"
    data = tf.data.Dataset.from_tensors(workload.examples(args.batch_size)).repeat()
    batches = iter(strategy.experimental_distribute_dataset(data))
    step = make_step(strategy, workload, model, optimizer, args.batch_size)
    report = peer.train(lambda: float(step(next(batches))), args, start_s)
    return {
        "peer": "tensorflow",
        "version": tf.__version__,
        "replicas": args.replicas,
        "device": ", ".join(strategy.extended.worker_devices),
        **report,
        "params": params,
        "peak_memory_mb": peer.peak_memory_mb(),
        "threads_per_replica": tf.config.threading.get_intra_op_parallelism_threads(),
    }


def main():
    parser = peer.make_parser(__doc__, WORKLOADS)
    parser.add_argument("--replicas", type=int, default=2, help="one on each device (default 2)")
    args = parser.parse_args()
    peer.check(parser, args, "replicas")
    if args.device == "cuda":
        peer.require_gpus(parser, args.replicas, len(tf.config.list_physical_devices("GPU")), "TensorFlow")
    peer.say_and_print(measure(args), args.json)


if __name__ == "__main__":
    main()
