#pragma once

#include <lockstep/models/layers/initializers.h>

// The callables that random_normal, truncated_normal, random_uniform, variance_scaling, orthogonal and constant
// (initializers.h) wrap in the std::function that they return. Saving a model finds the class by std::function::target
// and writes its options.

namespace lockstep::detail {

struct RandomNormal {
  NormalOptions options;
  Initializer operator()(const RandomKey& key) const;
};

struct TruncatedNormal {
  NormalOptions options;
  Initializer operator()(const RandomKey& key) const;
};

struct RandomUniform {
  UniformOptions options;
  Initializer operator()(const RandomKey& key) const;
};

struct VarianceScaling {
  VarianceScalingOptions options;
  Initializer operator()(const RandomKey& key) const;
};

struct Orthogonal {
  OrthogonalOptions options;
  Initializer operator()(const RandomKey& key) const;
};

struct Constant {
  double value;
  Initializer operator()(const RandomKey& key) const;
};

}  // namespace lockstep::detail
