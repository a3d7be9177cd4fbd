#pragma once

#include <functional>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/strategy/core/variable.h>

// Initial values of variables: equal for equal keys, whatever the number of threads, replicas or machines.

namespace lockstep {

/// An initializer option of a layer: makes the initializer from the key of the weight's random numbers. The
/// functions below with a key can be used directly: `.kernel_initializer = he_normal`; those with options return one:
/// `.kernel_initializer = random_normal({.stddev = 0.01})`.
using SeededInitializer = std::function<Initializer(const RandomKey&)>;

/// The fan that the scale uses: of a kernel (..., in, out) fan_in is in and fan_out out, both times the sizes of
/// the axes before them, such as a convolution's window; of a vector both are its size.
enum class FanMode { fan_in, fan_out, fan_avg };
/// truncated_normal redraws values outside two standard deviations.
enum class Distribution { truncated_normal, untruncated_normal, uniform };

/// variance_scaling's options.
struct VarianceScalingOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  double scale = 1;
  FanMode mode = FanMode::fan_in;
  Distribution distribution = Distribution::truncated_normal;
  ///@}
};

/// Of mean 0 and variance scale / fan, as Keras' VarianceScaling. Throws InvalidArgument unless scale > 0.
SeededInitializer variance_scaling(const VarianceScalingOptions& options = {});

///@{
/// Scale 1, fan_avg (Glorot and Bengio 2010); glorot_uniform is Keras' default for kernels.
Initializer glorot_uniform(const RandomKey& key);
Initializer glorot_normal(const RandomKey& key);
///@}
///@{
/// Scale 2, fan_in (He et al. 2015).
Initializer he_uniform(const RandomKey& key);
Initializer he_normal(const RandomKey& key);
///@}
///@{
/// Scale 1, fan_in (LeCun et al. 1998).
Initializer lecun_uniform(const RandomKey& key);
Initializer lecun_normal(const RandomKey& key);
///@}

/// A normal distribution.
struct NormalOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  double mean = 0;
  double stddev = 0.05;
  ///@}
};
/// Of mean `mean` and standard deviation `stddev`.
SeededInitializer random_normal(const NormalOptions& options = {});
/// Values outside two standard deviations are redrawn.
SeededInitializer truncated_normal(const NormalOptions& options = {});

/// A uniform distribution.
struct UniformOptions {
  ///@{
  /// Keras' arguments of these names, with its defaults where it has any.
  double minval = -0.05;
  double maxval = 0.05;
  ///@}
};
/// In [minval, maxval).
SeededInitializer random_uniform(const UniformOptions& options = {});

/// A matrix with orthonormal rows or, if it has more rows than columns, columns, of uniform distribution (Saxe et al.
/// 2014), Keras' default for recurrent kernels: the Q of a Gaussian matrix' QR factorization whose R has a positive
/// diagonal (Mezzadri 2007). The last axis is the columns. Throws InvalidArgument, when used, for less than two axes.
Initializer orthogonal(const RandomKey& key);

/// The same value for every element.
SeededInitializer constant(double value);
///@{
/// constant(0) and constant(1); the key is not read.
Initializer zeros(const RandomKey& key = {});
Initializer ones(const RandomKey& key = {});
///@}

}  // namespace lockstep
