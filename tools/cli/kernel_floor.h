#pragma once

#include <cstdint>

#include <lockstep/models/graph/network.h>

namespace lockstep::cli {

/// Milliseconds that the convolutions and matrix products of one training step take when each is run alone, forward and
/// gradients as the step needs them, in what each computes in, at `rows` examples per replica, on all replicas at once:
/// what a step that did nothing else would take. The best of several rounds for each layer.
double kernel_floor_ms(const Network& network, std::int64_t rows);

}  // namespace lockstep::cli
