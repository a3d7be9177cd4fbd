#include "lockstep/kernels/cuda/attention_plan.h"

#include <lockstep/kernels/cuda/operands.h>

namespace lockstep::cudnn {

void AttentionPlan::check_contracts(const FusedAttention& attention, const Operands& operands,
                                    const void* workspace) const {
  const FusedAttention& a = attention;
  const auto range = [](const void* address, const std::optional<Layout>& layout, DType dtype = DType::bf16) {
    return operand(address, layout ? layout->elements() : 0, dtype);
  };
  const auto result = [&](const void* address, const Layout& layout) {
    return range(address, a.dy ? std::optional(layout) : std::nullopt);
  };
  check_operands("cuDNN's attention", {range(operands.query, a.query),
                                       range(operands.key, a.key),
                                       range(operands.value, a.value),
                                       range(operands.bias, a.bias),
                                       range(operands.seed, a.seed(), DType::i64),
                                       range(operands.offset, a.seed(), DType::i64),
                                       range(operands.y, a.y()),
                                       range(operands.log_sum_exp, a.log_sum_exp(), DType::f32),
                                       range(operands.dy, a.dy),
                                       result(operands.dquery, a.dquery()),
                                       result(operands.dkey, a.dkey()),
                                       result(operands.dvalue, a.dvalue()),
                                       {workspace, static_cast<std::size_t>(workspace_bytes_), operand_alignment}});
}

}  // namespace lockstep::cudnn
