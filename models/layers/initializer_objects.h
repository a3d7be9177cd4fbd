#pragma once

#include <lockstep/models/layers/initializers.h>

// What the functions of initializers.h with options return, as the target of the std::function: files store the class
// and the options.

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

struct Constant {
  double value;
  Initializer operator()(const RandomKey& key) const;
};

}  // namespace lockstep::detail
