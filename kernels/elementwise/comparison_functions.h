#pragma once

#include <type_traits>

#include <lockstep/kernels/elementwise/comparison_kernels.h>
#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/host_device.h>

// The comparisons of two elements.

namespace lockstep {

namespace functor {

/// Whether a op b.
template <ComparisonOp op>
struct Comparison {
  template <class T>
  LOCKSTEP_HOST_DEVICE bool operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bfloat16>)
      return (*this)(static_cast<float>(a), static_cast<float>(b));
    else if constexpr (op == ComparisonOp::equal)
      return a == b;
    else if constexpr (op == ComparisonOp::not_equal)
      return a != b;
    else if constexpr (op == ComparisonOp::less)
      return a < b;
    else if constexpr (op == ComparisonOp::less_equal)
      return a <= b;
    else if constexpr (op == ComparisonOp::greater)
      return a > b;
    else if constexpr (op == ComparisonOp::greater_equal)
      return a >= b;
    else if constexpr (op == ComparisonOp::logical_and)
      return a != T{} && b != T{};
    else if constexpr (op == ComparisonOp::logical_or)
      return a != T{} || b != T{};
    else
      return (a != T{}) != (b != T{});
  }
};

}  // namespace functor

/// Calls visit with the functor of a comparison.
template <class Visit>
void visit_comparison(ComparisonOp op, const Visit& visit) {
  switch (op) {
    case ComparisonOp::equal:
      return visit(functor::Comparison<ComparisonOp::equal>{});
    case ComparisonOp::not_equal:
      return visit(functor::Comparison<ComparisonOp::not_equal>{});
    case ComparisonOp::less:
      return visit(functor::Comparison<ComparisonOp::less>{});
    case ComparisonOp::less_equal:
      return visit(functor::Comparison<ComparisonOp::less_equal>{});
    case ComparisonOp::greater:
      return visit(functor::Comparison<ComparisonOp::greater>{});
    case ComparisonOp::greater_equal:
      return visit(functor::Comparison<ComparisonOp::greater_equal>{});
    case ComparisonOp::logical_and:
      return visit(functor::Comparison<ComparisonOp::logical_and>{});
    case ComparisonOp::logical_or:
      return visit(functor::Comparison<ComparisonOp::logical_or>{});
    case ComparisonOp::logical_xor:
      return visit(functor::Comparison<ComparisonOp::logical_xor>{});
  }
}

}  // namespace lockstep
