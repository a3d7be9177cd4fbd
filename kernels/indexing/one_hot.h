#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// One-hot encodes `indices` (any shape; i64, i32 or u8): the result has a new axis of `classes` elements, 1 at the
/// index and 0 elsewhere. The new axis is axis `axis` of the result; a negative axis counts from the result's end. An
/// index outside [0, classes) gives zeros only, as in Keras. Throws InvalidArgument for indices of other dtypes, an
/// axis out of range and a negative number of classes.
Tensor one_hot(const Tensor& indices, std::int64_t classes, int axis = -1, DType dtype = DType::f32);

}  // namespace lockstep
