#pragma once

#include <initializer_list>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/executor/rows.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::kernels::detail {

/// Accesses a tensor of T with the layout "rows" (kernel.h) by row and channel.
template <class T>
struct Rows {
  explicit Rows(const Tensor& tensor) : first(tensor.data<T>()), stride(row_stride(tensor)) {}
  LOCKSTEP_HOST_DEVICE T* at(Index row, Index k) const { return first + row * stride + k; }

  T* first;
  Index stride;
};

inline Index row_count(const Tensor& x) { return x.dim(-1) == 0 ? 0 : x.elements() / x.dim(-1); }

/// Whether all tensors can be accessed in aligned packs of pack_of<T> neighboring channels.
template <class T>
bool channels_in_packs(Index channels, std::initializer_list<Rows<T>> tensors) {
  constexpr int pack = pack_of<T>;
  bool all = channels % pack == 0;
  for (const Rows<T>& rows : tensors) all = all && rows.stride % pack == 0 && in_packs<pack, T>({rows.first});
  return all;
}

}  // namespace lockstep::kernels::detail

namespace lockstep::kernels {

/// Calls run.operator()<pack>() with pack = pack_of<T> if all tensors can be accessed in packs, else with pack = 1.
template <class T, class Run>
void visit_packs(Index channels, std::initializer_list<detail::Rows<T>> tensors, const Run& run) {
  if (detail::channels_in_packs<T>(channels, tensors))
    run.template operator()<pack_of<T>>();
  else
    run.template operator()<1>();
}

}  // namespace lockstep::kernels
