#include "lockstep/kernels/indexing/indices.h"

#include <fmt/format.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/indexing/indexing_kernels.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep {

Tensor as_indices(const char* op, const char* what, const Tensor& indices) {
  const bool integers = indices.defined() && (indices.dtype() == DType::i64 || indices.dtype() == DType::i32 ||
                                              indices.dtype() == DType::u8);
  require(integers, "{} takes {} of i64, i32 or u8, got {}", op, what, indices);
  const Tensor here = to_current_device(indices);
  if (here.dtype() == DType::i64 && here.is_dense()) return here;
  const Tensor dense = Tensor::empty(indices.shape(), DType::i64);
  launch(kernels::Convert{here, dense});
  return dense;
}

Tensor flat_indices(const char* op, const Tensor& indices, const Shape& sizes) {
  const Tensor flat = Tensor::empty({indices.dim(0)}, DType::i64);
  const std::int64_t outside = launch(kernels::FlatIndices{indices, sizes, flat});
  if (outside < 0) return flat;
  const std::vector<std::int64_t> index = indices.slice_view(0, outside, outside + 1).to_vector<std::int64_t>();
  fail("{}: the index ({}) at place {} is outside {}", op, fmt::join(index, ", "), outside, sizes);
}

}  // namespace lockstep
