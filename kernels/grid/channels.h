#pragma once

#include <initializer_list>

#include <lockstep/kernels/grid/executor.h>
#include <lockstep/kernels/grid/fours.h>
#include <lockstep/kernels/ops/layout.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::grid::detail {

/// A tensor as rows of channels.
struct Rows {
  explicit Rows(const Tensor& tensor) : first(tensor.data<float>()), stride(row_stride(tensor)) {}
  LOCKSTEP_HOST_DEVICE float* at(Index row, Index k) const { return first + row * stride + k; }

  float* first;
  Index stride;
};

inline Index row_count(const Tensor& x) { return x.dim(-1) == 0 ? 0 : x.elements() / x.dim(-1); }

/// Whether four neighboring channels can be worked on together in all of them.
inline bool channels_in_fours(Index channels, std::initializer_list<Rows> tensors) {
  bool all = channels % 4 == 0;
  for (const Rows& rows : tensors) all = all && rows.stride % 4 == 0 && in_fours({rows.first});
  return all;
}

}  // namespace lockstep::grid::detail
