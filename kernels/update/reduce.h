#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/runtime/core/dtype.h>
#include <lockstep/runtime/core/error.h>

// The reduction of one value per replica to one for all, on flat memory.

namespace lockstep {

/// "sum", "mean", "max", "min" or "prod".
constexpr std::string_view name(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "prod"};
  return names[static_cast<int>(op)];
}

/// The op of a name in any case, e.g. "SUM". Throws InvalidArgument that lists the names.
ReduceOp parse_reduce_op(std::string_view text);

/// A parameter that takes an op or its name: all_reduce("SUM", x).
class ReduceOpOrName {
 public:
  ///@{
  /// Of an op, or of its name in any case. Throws InvalidArgument that lists the names.
  ReduceOpOrName(ReduceOp op) : op_(op) {}                                      // NOLINT: implicit
  ReduceOpOrName(std::string_view text) : op_(parse_reduce_op(text)) {}         // NOLINT: implicit
  ReduceOpOrName(const char* text) : ReduceOpOrName(std::string_view(text)) {}  // NOLINT: implicit
  ///@}
  /// The op that was given or named.
  operator ReduceOp() const { return op_; }  // NOLINT: implicit

 private:
  ReduceOp op_;
};

/// Throws InvalidArgument unless values of `dtype` can be combined by `op`: f32, bf16, i32 and i64 can be, and all but
/// the integers have a mean.
void check_reducible(ReduceOp op, DType dtype);

/// out[k][i] = op over r of in[r][i], for every k; reduced in the order of r, bf16 in f32 with one rounding at the end,
/// integers modulo 2^bits. An `out` may be one of the `in`.
template <class T>
struct ReduceViews {
  std::span<const T* const> in;  ///< one for each replica
  std::span<T* const> out;       ///< one for each copy of the result
  std::int64_t count = 0;        ///< elements behind each pointer
  std::int64_t terms = 0;        ///< what a mean divides by, when the `in` are partial sums; 0: their number
};

/// What a mean divides by.
template <class T>
std::int64_t mean_terms(const ReduceViews<T>& views) {
  return views.terms > 0 ? views.terms : static_cast<std::int64_t>(views.in.size());
}

/// Throws InvalidArgument for views of no replica, and as check_reducible.
template <class T>
void check_views(ReduceOp op, const ReduceViews<T>& views) {
  require(!views.in.empty(), "a reduction needs at least one replica's values");
  check_reducible(op, dtype_of<T>);
}

/// Calls `f.operator()<T>()` with the C++ type of `dtype`, once check_reducible has passed.
template <class F>
void visit_reducible(ReduceOp op, DType dtype, F&& f) {
  check_reducible(op, dtype);
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::uint8_t>) f.template operator()<T>();
  });
}

}  // namespace lockstep
