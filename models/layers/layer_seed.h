#pragma once

#include <cstdint>

#include <lockstep/kernels/random/random_key.h>

namespace lockstep {

/// The seed of a layer's initial weights and random numbers.
struct LayerSeed {
  std::uint64_t seed = 0;    ///< the model's seed
  std::uint32_t stream = 0;  ///< number of the layer, unique in the model
  std::uint32_t first = 0;   ///< added to the numbers of sequences; nonzero only for layers inside another layer

  /// The key of the layer's random sequence `number`, for example one for each weight. Precondition, not checked:
  /// `number` is below 16, or below 4 in a layer inside another layer, which can contain up to four layers.
  RandomKey key(std::uint32_t number) const { return {.seed = seed, .stream = stream * 16 + first + number}; }
};

}  // namespace lockstep
