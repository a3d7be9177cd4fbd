#pragma once

namespace lockstep {

/// The part of a data set that is published as training and test data.
enum class Split { train, test };

}  // namespace lockstep
