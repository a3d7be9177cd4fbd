#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::kernels {

/// A divisor of indices that is known when a kernel is launched. GPUs need tens of instructions to divide integers; for
/// dividends below 2^31 a Divisor uses one multiplication instead.
///
/// Formula: Granlund and Montgomery, "Division by invariant integers using multiplication" (1994). For d <= 2^s,
/// m = ceil(2^(31 + s) / d) and 0 <= n < 2^31: n / d = floor(n m / 2^(31 + s)).
class Divisor {
 public:
  /// The divisor 0. Do not divide by it.
  Divisor() = default;
  /// Precondition: value >= 0. 0 is allowed because empty tensors have axes of size 0; do not divide by it.
  explicit Divisor(Index value) : value_(value) {
    if (value == 0 || value > most_narrow) return;  // factor_ = 0: n / d = 0 for n < 2^31 <= d
    const auto divisor = static_cast<std::uint64_t>(value);
    shift_ = std::bit_width(divisor - 1);
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift_)) + divisor - 1) / divisor);
  }

  LOCKSTEP_HOST_DEVICE Index value() const { return value_; }

  ///@{
  /// Precondition: n >= 0 and the divisor is not 0.
  LOCKSTEP_HOST_DEVICE friend std::int32_t operator/(std::int32_t n, const Divisor& d) {
    const std::uint64_t product = std::uint64_t{2 * static_cast<std::uint32_t>(n)} * d.factor_;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(product >> 32) >> d.shift_);
  }
  LOCKSTEP_HOST_DEVICE friend Index operator/(Index n, const Divisor& d) {
    return n <= most_narrow ? static_cast<std::int32_t>(n) / d : n / d.value_;
  }
  ///@}

 private:
  static constexpr Index most_narrow = std::numeric_limits<std::int32_t>::max();

  Index value_ = 0;
  std::uint32_t factor_ = 0;
  int shift_ = 0;
};

}  // namespace lockstep::kernels
