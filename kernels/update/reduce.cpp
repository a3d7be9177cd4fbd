#include "lockstep/kernels/update/reduce.h"

#include <string>

#include <lockstep/runtime/core/lower_case.h>

namespace lockstep {

ReduceOp parse_reduce_op(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod})
    if (lower == name(op)) return op;
  fail("'{}' is no reduction; choose sum, mean, max, min or prod", text);
}

void check_reducible(ReduceOp op, DType dtype) {
  require(is_real(dtype) || is_integer(dtype), "{} combines f32, bf16, i32 and i64 values, got {}", name(op),
          name(dtype));
  require(!is_integer(dtype) || op != ReduceOp::mean,
          "the mean of {} values need not be a whole number: convert them to f32, or take their sum", name(dtype));
}

}  // namespace lockstep
