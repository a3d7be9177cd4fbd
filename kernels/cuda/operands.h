#pragma once

#include <initializer_list>

#include <lockstep/kernels/activation.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/tensor/tensor.h>

// Operands for cuDNN and cuBLASLt, at addresses with a guaranteed alignment. The libraries' choice of algorithm, and
// with it the bits of a result, then does not depend on addresses.

namespace lockstep {

/// Guaranteed alignment, in bytes, of every address passed to the libraries: the width of the widest load.
inline constexpr std::int64_t operand_alignment = 16;

/// Whether x begins at a multiple of operand_alignment; views into larger tensors may not.
bool is_aligned(const Tensor& x);
/// x itself when it is aligned or undefined, else an aligned copy. Precondition: x is dense or undefined.
Tensor aligned(const Tensor& x);

/// Checks the memory that a library call uses on the calling thread's GPU (contracts::check). `call` is named in
/// errors.
inline void check_operands(const char* call, std::initializer_list<contracts::MemoryRange> ranges) {
  contracts::check(call, Stream{current_context().device}, ranges);
}
/// The memory of `elements` elements from `address` on; `address` must be aligned to operand_alignment.
inline contracts::MemoryRange operand(const void* address, std::int64_t elements, DType dtype = DType::f32) {
  return {address, static_cast<std::size_t>(elements) * size_of(dtype), operand_alignment};
}

/// The tensor that a library writes for an op: the op's result itself, or scratch memory from which finish() fills the
/// result.
class LibraryResult {
 public:
  /// `wanted`: the op's result, dense; `rest`: the activation that finish() applies because the library cannot.
  explicit LibraryResult(const Tensor& wanted, Activation rest = Activation::linear);
  /// The tensor for the library to fill: `wanted` itself or scratch memory of its shape and dtype.
  const Tensor& tensor() const { return written_; }
  /// If needed, enqueues the activation or the copy to `wanted`. Call it after the library's work has been enqueued.
  void finish() const;

 private:
  Tensor wanted_;
  Tensor written_;
  Activation rest_;
};

}  // namespace lockstep
