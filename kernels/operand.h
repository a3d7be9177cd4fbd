#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::kernels {

/// Memory that a kernel reads or writes: a tensor, or flat memory that any GPU may own.
struct Operand {
  /// The memory of a tensor, which the calling thread's GPU must own; no memory if the tensor is undefined. The tensor
  /// must outlive the operand.
  Operand(const Tensor& of) : tensor(&of) {}  // NOLINT: implicit, operands are listed
  /// `count` elements from `begin` on, which any GPU may own.
  template <class T>
  Operand(const T* begin, std::int64_t count)
      : flat{begin, static_cast<std::size_t>(count) * sizeof(T), alignof(T)}, owner(contracts::Owner::any_gpu) {}

  const Tensor* tensor = nullptr;                      ///< the tensor; null if the operand is flat memory
  contracts::MemoryRange flat;                         ///< the flat memory, if `tensor` is null
  contracts::Owner owner = contracts::Owner::own_gpu;  ///< which GPUs may own the memory
};

/// A tensor that any GPU may own.
inline Operand of_any_gpu(const Tensor& tensor) {
  Operand operand(tensor);
  operand.owner = contracts::Owner::any_gpu;
  return operand;
}

/// Makes an array of the listed operands.
template <class... Listed>
std::array<Operand, sizeof...(Listed)> operands(const Listed&... listed) {
  return {Operand(listed)...};
}

/// The memory from the operand's first to its last element. Precondition: strides are not negative.
contracts::MemoryRange memory_of(const Operand& operand);

/// Throws BrokenInvariant, naming `kernel`, unless the compute stream of the calling thread's GPU may use all operands
/// now (contracts::check).
void check_operands(const char* kernel, std::span<const Operand> operands);

}  // namespace lockstep::kernels
