#pragma once

#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/strategy/core/variable.h>

// Initial values of f32 variables. Equal keys give equal values for any number of threads, replicas and machines;
// different kinds of processors may round differently.

namespace lockstep {

/// An initializer option of a layer: a function from the key of the weight's random numbers to the initializer. The
/// functions below that take a key can be used directly: `.kernel_initializer = he_normal`. The functions that take
/// other arguments return an initializer option: `.kernel_initializer = random_normal({.stddev = 0.01})`.
using SeededInitializer = std::function<Initializer(const RandomKey&)>;

/// The fan by which variance_scaling divides `scale`. For a kernel (..., in, out), fan_in is `in` and fan_out is `out`,
/// each times the sizes of the other axes, such as a convolution's window; fan_avg is their mean. For a vector, all
/// three are its size.
enum class FanMode { fan_in, fan_out, fan_avg };
/// truncated_normal redraws values that are two or more standard deviations from 0.
enum class Distribution { truncated_normal, untruncated_normal, uniform };

/// variance_scaling's options.
struct VarianceScalingOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  double scale = 1;
  FanMode mode = FanMode::fan_in;
  Distribution distribution = Distribution::truncated_normal;
  ///@}
};

/// Random values of mean 0 and variance scale / fan, like Keras' VarianceScaling. Throws InvalidArgument unless scale
/// is finite and above 0.
SeededInitializer variance_scaling(const VarianceScalingOptions& options = {});

///@{
/// variance_scaling of scale 1 and fan_avg (Glorot and Bengio 2010); glorot_uniform is Keras' default for kernels.
Initializer glorot_uniform(const RandomKey& key);
Initializer glorot_normal(const RandomKey& key);
///@}
///@{
/// variance_scaling of scale 2 and fan_in (He et al. 2015).
Initializer he_uniform(const RandomKey& key);
Initializer he_normal(const RandomKey& key);
///@}
///@{
/// variance_scaling of scale 1 and fan_in (LeCun et al. 1998).
Initializer lecun_uniform(const RandomKey& key);
Initializer lecun_normal(const RandomKey& key);
///@}

/// random_normal's and truncated_normal's options.
struct NormalOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  double mean = 0;
  double stddev = 0.05;
  ///@}
};
/// Normally distributed values.
SeededInitializer random_normal(const NormalOptions& options = {});
/// Normally distributed values. Values that are two or more standard deviations from the mean are redrawn.
SeededInitializer truncated_normal(const NormalOptions& options = {});

/// random_uniform's options.
struct UniformOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  double minval = -0.05;
  double maxval = 0.05;
  ///@}
};
/// Uniformly distributed values in [minval, maxval); maxval itself can occur through rounding to f32.
SeededInitializer random_uniform(const UniformOptions& options = {});

/// orthogonal's options.
struct OrthogonalOptions {
  double gain = 1;  ///< factor of the matrix
};
/// A uniformly distributed matrix with orthonormal rows or, if it has more rows than columns, orthonormal columns (Saxe
/// et al. 2014); Keras' default for recurrent kernels. Computed as the Q of the QR factorization of a Gaussian matrix,
/// with R's diagonal positive (Mezzadri 2007). The last axis is the columns; all other axes together are the rows. The
/// initializer throws InvalidArgument for a shape with fewer than two axes.
SeededInitializer orthogonal(const OrthogonalOptions& options = {});

/// Sets every element to `value`.
SeededInitializer constant(double value);
///@{
/// Set every element to 0 or to 1. The key is ignored.
Initializer zeros(const RandomKey& key = {});
Initializer ones(const RandomKey& key = {});
///@}

}  // namespace lockstep
