#pragma once

namespace lockstep {

/// How one value per replica is reduced to a single value.
enum class ReduceOp { sum, mean, max, min, prod };

}  // namespace lockstep
