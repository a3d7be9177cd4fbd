#pragma once

namespace lockstep {

/// Which part of a data set that comes in two.
enum class Split { train, test };

}  // namespace lockstep
