#pragma once

#include <cstdint>

namespace lockstep {

/// Names one sequence of random numbers. The same key gives the same numbers on every device and in any order of
/// access; the exception is the dropout of dot_product_attention on GPUs (attention.h).
struct RandomKey {
  std::uint64_t seed = 0;     ///< seed of the program or the model
  std::uint32_t stream = 0;   ///< number of the consumer, e.g. of a layer
  std::uint32_t replica = 0;  ///< index among the replicas of all workers; 0 if all replicas draw the same numbers
  std::uint64_t step = 0;     ///< number of keys that the consumer has drawn before
};

}  // namespace lockstep
