"""Chooses what Keras computes with. To be called before Keras is imported."""

import os


def choose(backend):
    """Of "jax", which compiles each model anew, and "numpy", which compiles convolutions alone and does not train."""
    os.environ.update(KERAS_BACKEND=backend, JAX_PLATFORMS="cpu")
    if backend == "jax":
        os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
