#pragma once

#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/elementwise/binary_functions.h>
#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/host_device.h>

// Functors that reduce one element's values over the replicas, and the search for the largest element.

namespace lockstep {

/// The type that values of T are accumulated in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

// combine(a, b) combines values of two replicas, converted to Accumulator, with the function of an element-wise op; the
// maximum and the minimum of NaN and a number are NaN. finish(value, terms) turns the combined value into the result;
// `terms` is the divisor of a mean.

template <class F>
struct OfReplicas {
  template <class A>
  LOCKSTEP_HOST_DEVICE A combine(A a, A b) const {
    return F{}(a, b);
  }
  template <class A>
  LOCKSTEP_HOST_DEVICE A finish(A a, A) const {
    return a;
  }
};
using SumOfReplicas = OfReplicas<functor::Add>;
using MaxOfReplicas = OfReplicas<functor::Larger>;
using MinOfReplicas = OfReplicas<functor::Smaller>;
using ProductOfReplicas = OfReplicas<functor::Multiply>;
struct MeanOfReplicas : SumOfReplicas {
  template <class A>
  LOCKSTEP_HOST_DEVICE A finish(A a, A terms) const {
    return a / terms;
  }
};

/// Calls `visit` with the functor of `op`.
template <class Visit>
void visit_reduce(ReduceOp op, Visit&& visit) {
  switch (op) {
    case ReduceOp::sum:
      return visit(SumOfReplicas{});
    case ReduceOp::mean:
      return visit(MeanOfReplicas{});
    case ReduceOp::max:
      return visit(MaxOfReplicas{});
    case ReduceOp::min:
      return visit(MinOfReplicas{});
    case ReduceOp::prod:
      return visit(ProductOfReplicas{});
  }
}

/// The largest value so far and the first index at which it occurred. As in NumPy, NaN is larger than every number.
struct Largest {
  float value = 0;
  std::int64_t index = 0;

  /// Precondition: `at` is larger than all indices offered before.
  LOCKSTEP_HOST_DEVICE void offer(float candidate, std::int64_t at) {
    if (is_larger(candidate, value)) {
      value = candidate;
      index = at;
    }
  }
  /// Accepts candidates in any order of indices.
  LOCKSTEP_HOST_DEVICE void offer(const Largest& candidate) {
    const bool is_first = !is_larger(value, candidate.value) && candidate.index < index;
    if (is_larger(candidate.value, value) || is_first) *this = candidate;
  }
  LOCKSTEP_HOST_DEVICE static bool is_larger(float a, float b) { return a > b || (a != a && b == b); }
};

}  // namespace lockstep
