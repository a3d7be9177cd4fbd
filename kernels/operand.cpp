#include "lockstep/kernels/operand.h"

#include <lockstep/runtime/device/context.h>

namespace lockstep::kernels {

contracts::MemoryRange memory_of(const Operand& operand) {
  if (operand.tensor == nullptr) return operand.flat;
  const Tensor& tensor = *operand.tensor;
  if (!tensor.defined() || tensor.elements() == 0) return {};
  std::int64_t last = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) last += (tensor.shape()[axis] - 1) * tensor.strides()[axis];
  const std::size_t size = size_of(tensor.dtype());
  return {tensor.raw_data(), static_cast<std::size_t>(last + 1) * size, size};
}

void check_operands(const char* kernel, std::span<const Operand> operands) {
  for (const Operand& operand : operands)
    contracts::check(kernel, Stream{current_context().device}, {memory_of(operand)}, operand.owner);
}

}  // namespace lockstep::kernels
