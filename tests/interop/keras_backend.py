"""Chooses Keras' backend. Must be called before Keras is imported."""

import os


def choose(backend):
    """`name`: "jax", which compiles each model, or "numpy", which compiles only convolutions and cannot train."""
    os.environ.update(KERAS_BACKEND=backend, JAX_PLATFORMS="cpu")
    if backend == "jax":
        os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
