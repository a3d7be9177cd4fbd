#pragma once

namespace lockstep {

/// A part of a data set that is published as training data and test data.
enum class Split { train, test };

}  // namespace lockstep
