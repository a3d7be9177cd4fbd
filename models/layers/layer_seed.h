#pragma once

#include <cstdint>

#include <lockstep/kernels/random/random_key.h>

namespace lockstep {

/// The seed of a layer's initial weights and random numbers.
struct LayerSeed {
  std::uint64_t seed = 0;    ///< the model's seed
  std::uint32_t stream = 0;  ///< number of the layer, unique in the model
  std::uint32_t first = 0;   ///< number of the first random sequence of a layer inside another layer

  /// The key of the layer's random sequence `number`, for example one for each weight. A layer may use the numbers 0 to
  /// 15, but a layer that is one of several inside another layer only 0 to 3.
  RandomKey key(std::uint32_t number) const { return {.seed = seed, .stream = stream * 16 + first + number}; }
};

}  // namespace lockstep
