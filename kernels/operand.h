#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::kernels {

/// Memory that a kernel reads or writes: a tensor's, or flat memory of several GPUs.
struct Operand {
  /// Of the calling thread's GPU. The tensor stays where it is while the operand is used; undefined ones have no
  /// memory.
  Operand(const Tensor& of) : tensor(&of) {}  // NOLINT: implicit, operands are listed
  /// `count` elements that any GPU may own.
  template <class T>
  Operand(const T* begin, std::int64_t count)
      : flat{begin, static_cast<std::size_t>(count) * sizeof(T), alignof(T)}, reach(contracts::Reach::all) {}

  const Tensor* tensor = nullptr;                  ///< null: flat memory
  contracts::Use flat;                             ///< of flat memory
  contracts::Reach reach = contracts::Reach::own;  ///< whose memory it may be
};

/// A tensor that any GPU may own.
inline Operand of_any_gpu(const Tensor& tensor) {
  Operand operand(tensor);
  operand.reach = contracts::Reach::all;
  return operand;
}

/// The list of a kernel's operands.
template <class... Listed>
std::array<Operand, sizeof...(Listed)> operands(const Listed&... listed) {
  return {Operand(listed)...};
}

/// The memory from the first to the last element; strides are not negative.
contracts::Use memory_of(const Operand& operand);

/// Throws BrokenInvariant unless all operands may be given to the compute stream of the calling thread's GPU now
/// (contracts::check). `kernel` is named in the error.
void check_operands(const char* kernel, std::span<const Operand> operands);

}  // namespace lockstep::kernels
