#include "lockstep/kernels/cuda/operands.h"

#include <cstdint>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/array/fused_activation.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/elementwise/unary_kernels.h>

namespace lockstep {

bool is_aligned(const Tensor& x) {
  return reinterpret_cast<std::uintptr_t>(x.raw_data()) % static_cast<std::uintptr_t>(operand_alignment) == 0;
}

Tensor aligned(const Tensor& x) {
  if (!x.defined() || is_aligned(x)) return x;
  const Tensor copy = Tensor::empty(x.shape(), x.dtype());
  launch(kernels::Convert{x, copy});
  return copy;
}

LibraryResult::LibraryResult(const Tensor& wanted, Activation rest)
    : wanted_(wanted),
      written_(is_aligned(wanted) && rest == Activation::linear ? wanted
                                                                : Tensor::empty(wanted.shape(), wanted.dtype())),
      rest_(rest) {}

void LibraryResult::finish() const {
  if (const auto function = function_of(rest_))
    launch(kernels::Unary{*function, written_, wanted_});
  else if (written_.raw_data() != wanted_.raw_data())
    launch(kernels::Convert{written_, wanted_});
}

}  // namespace lockstep
