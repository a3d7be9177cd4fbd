#pragma once

#include <cstdint>
#include <map>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Maps a class to the weight of its examples. Examples of other classes have weight 1.
using ClassWeight = std::map<std::int64_t, double>;

/// The weights with which all classes count equally: n / (classes * count) for each class, where n is the number of
/// labels, `classes` the number of different labels, and `count` the number of the class's labels, as in scikit-learn's
/// compute_class_weight("balanced"). Labels have the shape (n) or (n, 1) and the dtype u8, i32 or i64. Throws
/// InvalidArgument unless `labels` has such a shape and dtype, and for an empty tensor.
ClassWeight balanced_class_weight(const Tensor& labels);

/// Returns the batch with sample weights: the weight of the class of each example's first target. Targets are labels of
/// shape (n) or (n, 1), or one-hot rows (n, classes) of at least two classes; floating-point labels are rounded to the
/// nearest integer. If class_weight is empty, returns the batch unchanged. Otherwise throws InvalidArgument for other
/// targets and, as Keras does, if the batch already has sample weights.
Batch with_class_weight(const Batch& batch, const ClassWeight& class_weight);

}  // namespace lockstep
