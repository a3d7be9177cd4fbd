#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/runtime/autograd/tape.h>

// The tape knows no op, so its tests use these: element-wise, on f32 tensors of one shape.

namespace lockstep::test {

template <class F>
Tensor elementwise(const Tensor& a, const Tensor& b, F&& f) {
  Tensor result = Tensor::empty(a.shape());
  for (std::size_t i = 0; i < result.span<float>().size(); ++i)
    result.span<float>()[i] = f(a.span<float>()[i], b.span<float>()[i]);
  return result;
}

inline Tensor plain_sum(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](float x, float y) { return x + y; });
}
inline Tensor plain_product(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](float x, float y) { return x * y; });
}

/// Adds `gradient` to the gradient of the input with this number. If the caller of backward has chosen a destination,
/// the sum is written there.
inline void contribute(BackwardContext& context, int input, const Tensor& gradient) {
  if (!context.needs(input)) return;
  const Tensor& before = context.contributed(input);
  if (before.defined()) {
    copy(plain_sum(before, gradient), before);
  } else if (context.destination(input).defined()) {
    copy(gradient, context.destination(input));
    context.set(input, context.destination(input), true);
  } else {
    context.set(input, plain_sum(gradient, Tensor::zeros(gradient.shape())), true);
  }
}

inline Tensor square(const Tensor& x) {
  Tensor y = plain_product(x, x);
  if (recording({x}))
    record("square", {x}, y, [x](BackwardContext& context) {
      contribute(context, 0, plain_product(plain_sum(x, x), context.gradient(0)));
    });
  return y;
}

inline Tensor multiply(const Tensor& a, const Tensor& b) {
  Tensor y = plain_product(a, b);
  if (recording({a, b}))
    record("multiply", {a, b}, y, [a, b](BackwardContext& context) {
      contribute(context, 0, plain_product(b, context.gradient(0)));
      contribute(context, 1, plain_product(a, context.gradient(0)));
    });
  return y;
}

inline Tensor values(const std::vector<float>& numbers) {
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}
inline std::vector<float> read(const Tensor& tensor) { return tensor.to_vector<float>(); }

}  // namespace lockstep::test
