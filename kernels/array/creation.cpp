#include "lockstep/kernels/array/creation.h"

#include <algorithm>
#include <cmath>

#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/op/checks.h>
#include <lockstep/kernels/op/number.h>

namespace lockstep {
namespace {

/// Fills `range` with `count` numbers. Integers are rounded towards 0.
Tensor filled(const char* op, std::int64_t count, kernels::Range range, DType dtype) {
  const double last = range.start + static_cast<double>(count - 1) * range.step / range.divisor;
  for (const double number : {range.start, range.last.value_or(last)})
    require(count == 0 || holds(dtype, std::trunc(number)),
            "{} with {} needs a dtype that can represent it, such as f32, got {}", op, number, name(dtype));
  range.y = Tensor::empty({count}, dtype);
  launch(range);
  return range.y;
}

/// full_like for `op`.
Tensor filled_like(const char* op, const Tensor& x, double value) try {
  require_defined(op, x);
  require(holds(x.dtype(), value), "{} with {} needs a dtype that can represent it, such as f32, got {}", op, value, x);
  const ContextScope there(context_on(x.device()));
  return Tensor::full(x.shape(), value, x.dtype());
} catch (Error& error) {
  rethrow_from(op, error);
}

}  // namespace

Tensor arange(double start, double stop, double step, DType dtype) try {
  require(step != 0 && std::isfinite(start) && std::isfinite(stop) && std::isfinite(step),
          "arange takes finite numbers and a step that is not 0, got {}, {} and a step of {}", start, stop, step);
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  require(count < 0x1p62, "arange from {} to {} by {} has too many numbers", start, stop, step);
  return filled("arange", static_cast<std::int64_t>(count), {.start = start, .step = step}, dtype);
} catch (Error& error) {
  rethrow_from("arange", error);
}

Tensor linspace(double start, double stop, std::int64_t count, bool endpoint, DType dtype) try {
  require(count >= 0 && std::isfinite(start) && std::isfinite(stop),
          "linspace takes finite numbers and a count of at least 0, got {}, {} and a count of {}", start, stop, count);
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, endpoint ? count - 1 : count));
  kernels::Range range{.start = start, .step = stop - start, .divisor = steps};
  if (!std::isfinite(range.step * steps)) {  // a multiple of the step could overflow
    range.step = stop / steps - start / steps;
    range.divisor = 1;
  }
  if (endpoint && count > 1) range.last = stop;
  return filled("linspace", count, range, dtype);
} catch (Error& error) {
  rethrow_from("linspace", error);
}

Tensor full_like(const Tensor& x, double value) { return filled_like("full_like", x, value); }
Tensor zeros_like(const Tensor& x) { return filled_like("zeros_like", x, 0); }
Tensor ones_like(const Tensor& x) { return filled_like("ones_like", x, 1); }

}  // namespace lockstep
