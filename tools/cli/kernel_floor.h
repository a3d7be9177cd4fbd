#pragma once

#include <cstdint>

#include <lockstep/models/graph/network.h>

namespace lockstep::cli {

/// Sizes of the examples with which layers are timed.
struct FloorSizes {
  std::int64_t rows;     ///< examples per replica
  std::int64_t unknown;  ///< replaces each dimension that the network leaves open
};

/// Lower bound in ms of the time of a training step: the time of its convolutions and matrix products alone, including
/// attention and activations inside such layers. Runs the forward pass and the gradients of each such layer, in its
/// compute dtype, on all replicas concurrently. Adds up the layers' times, each the fastest of several rounds, and
/// returns the sum of the slowest replica.
double kernel_floor_ms(const Network& network, const FloorSizes& sizes);

}  // namespace lockstep::cli
