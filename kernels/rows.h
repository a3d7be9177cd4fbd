#pragma once

#include <optional>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor as rows of its last axis: row r begins r * stride elements after the first. A dense tensor and a channel
/// slice of a wider one are such; `stride` is then the number of channels of the tensor that was sliced.
struct Rows {
  std::int64_t count = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 0;
};

/// Nothing when the tensor is not laid out in rows (rank 0, or its leading axes are not dense among themselves).
std::optional<Rows> as_rows(const Tensor& tensor);
/// As above; throws BrokenInvariant naming `what`. For kernels, whose callers have checked.
Rows rows_of(const Tensor& tensor, const char* what);
/// The tensor itself when it is laid out in rows, else a dense copy.
Tensor with_rows(const Tensor& tensor);

}  // namespace lockstep
