#pragma once

namespace lockstep {

/// How the replicas' values become one.
enum class ReduceOp { sum, mean, max, min, prod };

}  // namespace lockstep
