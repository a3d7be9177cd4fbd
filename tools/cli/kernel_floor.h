#pragma once

#include <cstdint>

#include <lockstep/models/graph/network.h>

namespace lockstep::cli {

/// Lower bound in ms of the time of a training step: the time of its convolutions and matrix products alone. Runs the
/// forward pass and the gradients of each such layer, in its compute dtype, with `rows` examples per replica, on all
/// replicas concurrently. Adds up the layers' times, each the fastest of several rounds, and returns the sum of the
/// slowest replica.
double kernel_floor_ms(const Network& network, std::int64_t rows);

}  // namespace lockstep::cli
