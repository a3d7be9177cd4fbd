#pragma once

#include <lockstep/kernels/random_key.h>
#include <lockstep/strategy/variable/variable.h>

// Initial values of variables: equal for equal keys, whatever the number of threads, replicas or machines.

namespace lockstep {

/// Uniform in [-limit, limit) with limit = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), Keras' default for
/// kernels. The last two axes are in and out; the axes before them, as of a convolution's window, multiply both fans.
/// Throws InvalidArgument, when used, for a shape of less than two axes.
Initializer glorot_uniform(const RandomKey& key);
/// Uniform in [-limit, limit), Keras' default for embeddings. Throws InvalidArgument for a limit below 0.
Initializer random_uniform(const RandomKey& key, double limit = 0.05);
/// A matrix with orthonormal rows or, if it has more rows than columns, columns, of uniform distribution (Saxe et al.
/// 2014), Keras' default for recurrent kernels: the Q of a Gaussian matrix' QR factorization whose R has a positive
/// diagonal (Mezzadri 2007). The last axis is the columns. Throws as glorot_uniform.
Initializer orthogonal(const RandomKey& key);
Initializer zeros();
Initializer ones();

}  // namespace lockstep
