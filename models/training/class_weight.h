#pragma once

#include <cstdint>
#include <map>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// How much the examples of a class count, by class; those of other classes count as 1.
using ClassWeight = std::map<std::int64_t, double>;

/// The batch with the sample weights that its targets' classes give it: labels (n) or (n, 1), or one-hot rows
/// (n, classes). The batch itself when there are no class weights. Throws InvalidArgument when there are and the batch
/// has sample weights already, as Keras does, and for other targets.
Batch with_class_weight(const Batch& batch, const ClassWeight& class_weight);

}  // namespace lockstep
