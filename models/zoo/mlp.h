#pragma once

#include <array>
#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// mlp's options.
struct MlpOptions {
  /// Number of features of an example.
  std::int64_t inputs = 8000;
  std::array<std::int64_t, 4> hidden{4000, 2000, 500, 300};  ///< units of the hidden layers
  std::uint64_t seed = 0;                                    ///< seed of the initial weights
};

/// A network of dense layers for two classes: it maps (inputs) to a probability (1). The first hidden layer uses tanh,
/// the other hidden layers use relu, and the output layer uses sigmoid. With the default options, it has 41157101
/// parameters.
Model mlp(const MlpOptions& options = {});

}  // namespace lockstep::zoo
