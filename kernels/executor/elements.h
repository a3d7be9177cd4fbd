#pragma once

#include <cstdint>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/runtime/core/bfloat16.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep::kernels {

// The elements of a dense tensor whose dtype is chosen at run time. Kernels that compute far longer than they store
// write to them, so that they are compiled once for all dtypes.

/// Of f32 or bf16.
class RealElements {
 public:
  explicit RealElements(const Tensor& of) : elements_(of.raw_data()), narrow_(of.dtype() == DType::bf16) {}

  LOCKSTEP_HOST_DEVICE void set(Index i, float value) const {
    if (narrow_)
      static_cast<bfloat16*>(elements_)[i] = bfloat16(value);
    else
      static_cast<float*>(elements_)[i] = value;
  }

 private:
  void* elements_;
  bool narrow_;
};

/// Of i64, i32 or u8.
class IntegerElements {
 public:
  explicit IntegerElements(const Tensor& of)
      : elements_(of.raw_data()), bytes_(static_cast<int>(size_of(of.dtype()))) {}

  LOCKSTEP_HOST_DEVICE void set(Index i, std::int64_t value) const {
    if (bytes_ == 8)
      static_cast<std::int64_t*>(elements_)[i] = value;
    else if (bytes_ == 4)
      static_cast<std::int32_t*>(elements_)[i] = static_cast<std::int32_t>(value);
    else
      static_cast<std::uint8_t*>(elements_)[i] = static_cast<std::uint8_t>(value);
  }

 private:
  void* elements_;
  int bytes_;
};

}  // namespace lockstep::kernels
