#pragma once

#include <array>
#include <cstdint>

#include <lockstep/models/training/model.h>

namespace lockstep::zoo {

/// mlp's options.
struct MlpOptions {
  /// Features of an example.
  std::int64_t inputs = 8000;
  std::array<std::int64_t, 4> hidden{4000, 2000, 500, 300};  ///< units of the layers before the output
  std::uint64_t seed = 0;                                    ///< of the initial weights
};

/// Dense layers for two classes: the first hidden one with tanh, the others with relu, one sigmoid output;
/// (inputs) -> (1), a probability. 41,157,101 parameters by default.
Model mlp(const MlpOptions& options = {});

}  // namespace lockstep::zoo
