#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// 1 at each index, 0 elsewhere, along a new axis of `classes` elements, which is axis `axis` of the result (a negative
/// axis counts from the result's end). Indices (any shape; i64, i32 or u8) outside [0, classes) give zeros only, as in
/// Keras. The result has any dtype. Throws InvalidArgument for an axis out of range and a negative number of classes.
Tensor one_hot(const Tensor& indices, std::int64_t classes, int axis = -1, DType dtype = DType::f32);

}  // namespace lockstep
