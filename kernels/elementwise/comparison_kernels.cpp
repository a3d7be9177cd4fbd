#include "lockstep/kernels/elementwise/comparison_kernels.h"

#include <type_traits>

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

namespace detail {

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

/// Calls visit with the functor of a comparison.
template <class Visit>
void visit_comparison(ComparisonOp op, const Visit& visit) {
  switch (op) {
    case ComparisonOp::equal:
      return visit(Comparison<ComparisonOp::equal>{});
    case ComparisonOp::not_equal:
      return visit(Comparison<ComparisonOp::not_equal>{});
    case ComparisonOp::less:
      return visit(Comparison<ComparisonOp::less>{});
    case ComparisonOp::less_equal:
      return visit(Comparison<ComparisonOp::less_equal>{});
    case ComparisonOp::greater:
      return visit(Comparison<ComparisonOp::greater>{});
    case ComparisonOp::greater_equal:
      return visit(Comparison<ComparisonOp::greater_equal>{});
    case ComparisonOp::logical_and:
      return visit(Comparison<ComparisonOp::logical_and>{});
    case ComparisonOp::logical_or:
      return visit(Comparison<ComparisonOp::logical_or>{});
    case ComparisonOp::logical_xor:
      return visit(Comparison<ComparisonOp::logical_xor>{});
  }
}

template <class T>
struct Selection {
  StridedIndex<4> index;
  const bool* condition;
  const T* a;
  const T* b;
  T* y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const auto at = index(i);
    y[at.of[3]] = condition[at.of[0]] ? a[at.of[1]] : b[at.of[2]];
  }
};

}  // namespace detail

template <class Executor>
void Compare::run(Executor& on) const {
  visit_dtype(a.dtype(), [&]<class T>() {
    const detail::StridedOperands<2, bool, T> operands(out, a, b);
    detail::visit_comparison(op, [&](auto f) { detail::strided_map(on, f, operands); });
  });
}

template <class Executor>
void Select::run(Executor& on) const {
  const StridedIndex<4> index(
      StridedLoop<4>(out.shape(), {condition.strides(), a.strides(), b.strides(), out.strides()}));
  visit_dtype(out.dtype(), [&]<class T>() {
    on.for_each(out.elements(),
                detail::Selection<T>{index, condition.data<bool>(), a.data<T>(), b.data<T>(), out.data<T>()});
  });
}

LOCKSTEP_SHARED_KERNEL(Compare)
LOCKSTEP_SHARED_KERNEL(Select)

}  // namespace lockstep::kernels
