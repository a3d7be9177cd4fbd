#pragma once

#include <cstdint>
#include <map>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Weights of examples, by class; examples of classes that are not listed have weight 1.
using ClassWeight = std::map<std::int64_t, double>;

/// The batch with sample weights by its targets' classes. Targets are labels (n) or (n, 1), or one-hot rows (n,
/// classes). Returns the batch unchanged if there are no class weights. Otherwise throws InvalidArgument for other
/// targets and, as Keras does, if the batch already has sample weights.
Batch with_class_weight(const Batch& batch, const ClassWeight& class_weight);

}  // namespace lockstep
