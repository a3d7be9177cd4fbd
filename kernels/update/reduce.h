#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/core/error.h>

// Reduces the replicas' arrays, element by element, to one array; all are flat memory.

namespace lockstep {

/// The name of an op: "sum", "mean", "max", "min" or "prod".
constexpr std::string_view name(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "prod"};
  return names[static_cast<int>(op)];
}

/// Parses the name of an op, ignoring case, e.g. "SUM". Throws InvalidArgument, whose message lists the names, for
/// other text.
ReduceOp parse_reduce_op(std::string_view text);

/// A parameter that accepts an op or its name, e.g. all_reduce("SUM", x).
class ReduceOpOrName {
 public:
  ///@{
  /// From an op, or from its name, which parse_reduce_op parses.
  ReduceOpOrName(ReduceOp op) : op_(op) {}                                      // NOLINT: implicit
  ReduceOpOrName(std::string_view text) : op_(parse_reduce_op(text)) {}         // NOLINT: implicit
  ReduceOpOrName(const char* text) : ReduceOpOrName(std::string_view(text)) {}  // NOLINT: implicit
  ///@}
  /// The op that was given or named.
  operator ReduceOp() const { return op_; }  // NOLINT: implicit

 private:
  ReduceOp op_;
};

/// Throws InvalidArgument unless `op` supports `dtype`: a mean supports f32 and bf16, the other ops also support i32
/// and i64.
void check_reducible(ReduceOp op, DType dtype);

/// out[k][i] = op over r of in[r][i], for every k. Reduces in the order of r. Adds bf16 in f32 and rounds once at the
/// end; integer overflow wraps around. An `out` pointer may equal an `in` pointer.
template <class T>
struct ReduceViews {
  std::span<const T* const> in;  ///< one for each replica
  std::span<T* const> out;       ///< one for each copy of the result
  std::int64_t count = 0;        ///< elements behind each pointer
  std::int64_t terms = 0;        ///< divisor of a mean if `in` holds sums over several replicas; 0 means in.size()
};

/// The divisor of a mean.
template <class T>
std::int64_t mean_terms(const ReduceViews<T>& views) {
  return views.terms > 0 ? views.terms : static_cast<std::int64_t>(views.in.size());
}

/// Throws InvalidArgument when `in` is empty, and the errors of check_reducible.
template <class T>
void check_views(ReduceOp op, const ReduceViews<T>& views) {
  require(!views.in.empty(), "a reduction needs at least one replica's values");
  check_reducible(op, dtype_of<T>);
}

/// Calls `f.operator()<T>()` with the C++ type of `dtype`. Throws the errors of check_reducible.
template <class F>
void visit_reducible(ReduceOp op, DType dtype, F&& f) {
  check_reducible(op, dtype);
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::uint8_t> && !std::is_same_v<T, bool>) f.template operator()<T>();
  });
}

}  // namespace lockstep
