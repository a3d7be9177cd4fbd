#pragma once

#include <cstdint>

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

///@{
/// `type`: the type in which cumsum adds elements of T. For integers, `type` is unsigned, so that results wrap around;
/// cumprod also multiplies integers in this type.
template <class T>
struct CumulativeSumOf {
  using type = float;
};
template <>
struct CumulativeSumOf<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct CumulativeSumOf<std::int64_t> {
  using type = std::uint64_t;
};
///@}

/// Calls `f.operator()<T>()`, where T is the C++ type of `dtype`, a dtype that cumsum and cumprod accept.
template <class F>
void visit_cumsum(DType dtype, F&& f) {
  if (dtype == DType::i32) return f.template operator()<std::int32_t>();
  if (dtype == DType::i64) return f.template operator()<std::int64_t>();
  visit_real(dtype, f);
}

/// lockstep::cumsum (scan.h) along the middle axis of x (outer, n, inner), f32, bf16, i32 or i64. The order of addition
/// depends only on x's shape and the kind of device.
struct CumulativeSum {
  Tensor x;
  bool exclusive;
  bool reverse;
  Tensor y;

  static constexpr const char* name = "cumulative_sum";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y[r, i] = the product of x[r, 0] to x[r, i], for x (rows, n). x and y have the same dtype: f32, bf16, i32 or i64.
/// f32 and bf16 numbers are multiplied in f64.
struct CumulativeProduct {
  Tensor x;
  Tensor y;

  static constexpr const char* name = "cumulative_product";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
