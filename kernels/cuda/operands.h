#pragma once

#include <initializer_list>

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/tensor/tensor.h>

// Tensors as cuDNN and cuBLASLt want them: at addresses that are known beforehand to be aligned. What algorithm they
// choose, and so the bits of a result, then depends on shapes alone.

namespace lockstep {

/// What the libraries are promised of every address, in bytes: the width of the widest load.
inline constexpr std::int64_t operand_alignment = 16;

/// Whether x begins at such an address. A view into a larger tensor may not.
bool is_aligned(const Tensor& x);
/// Dense x itself when it is aligned or undefined, else a copy.
Tensor aligned(const Tensor& x);

/// Gives a library's call on the calling thread's GPU these uses of memory, aligned as it is promised, to check by the
/// contracts (runtime/device/contracts.h).
inline void check_operands(const char* call, std::initializer_list<contracts::Use> uses) {
  contracts::check(call, Stream{current_context().device}, uses);
}
/// Number of elements from the first to the last in memory.
inline contracts::Use operand(const void* address, std::int64_t elements, DType dtype = DType::f32) {
  return {address, static_cast<std::size_t>(elements) * size_of(dtype), operand_alignment};
}

/// Where a library writes a result, if not into the tensor that the op wants filled.
class LibraryResult {
 public:
  /// Of `wanted`, dense; `rest` is what is still to be applied to what the library writes.
  explicit LibraryResult(const Tensor& wanted, Activation rest = Activation::linear);
  /// What the library is to fill: `wanted` itself or scratch memory of its shape and dtype.
  const Tensor& tensor() const { return written_; }
  /// Enqueues what is left to do behind the library's work.
  void finish() const;

 private:
  Tensor wanted_;
  Tensor written_;
  Activation rest_;
};

}  // namespace lockstep
