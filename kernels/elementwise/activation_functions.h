#pragma once

#include <cmath>

#include <lockstep/kernels/elementwise/functor.h>
#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/kernels/elementwise/math_functions.h>

// Activation functions of one element; see functor.h and array/activations.h.

namespace lockstep::functor {

/// max(0, x). NaN stays NaN. The gradient at 0 is 0, as in TensorFlow.
struct Relu {
  static constexpr Info info{.name = "relu", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < 0.0F ? 0.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F ? dy : 0.0F; }
};
struct Relu6 {
  static constexpr Info info{.name = "relu6", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < 0.0F ? 0.0F : x > 6.0F ? 6.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F && y < 6.0F ? dy : 0.0F; }
};
struct LeakyRelu {
  static constexpr Info info{.name = "leaky_relu", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 0.0F ? x : slope * x; }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F ? dy : slope * dy; }
  float slope;  ///< not negative, so that y has the sign of x
};
struct Elu {
  static constexpr Info info{.name = "elu", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 0.0F ? x : alpha * expm1_f32(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F ? dy : dy * (y + alpha); }
  auto slope(const auto& y) const { return where(greater(y, 0), 1.0, y + alpha); }
  float alpha;  ///< not negative
};
/// Elu of x / alpha, times alpha, so that the slope at 0 is 1 (Barron 2017).
struct Celu {
  static constexpr Info info{.name = "celu", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x > 0.0F ? x : alpha * expm1_f32(x / alpha); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F ? dy : dy * (y / alpha + 1.0F); }
  auto slope(const auto& y) const { return where(greater(y, 0), 1.0, y / alpha + 1.0); }
  float alpha;  ///< 1e-30 to 1e30
};
/// The function SELU (Klambauer et al. 2017). The gradient at 0 is `scale`, as in TensorFlow.
struct Selu {
  static constexpr Info info{.name = "selu", .from_result = true};
  static constexpr float alpha = 1.67326324F;
  static constexpr float scale = 1.05070099F;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return scale * (x > 0.0F ? x : alpha * expm1_f32(x)); }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return dy * (y >= 0.0F ? scale : y + scale * alpha); }
  static auto slope(const auto& y) { return where(greater_equal(y, 0), scale, y + scale * alpha); }
};
struct Sigmoid {
  static constexpr Info info{.name = "sigmoid", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return sigmoid_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy * y * (1.0F - y); }
};
/// slope * x + 0.5, clipped to [0, 1]. NaN stays NaN.
struct HardSigmoid {
  static constexpr Info info{.name = "hard_sigmoid", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    const float y = slope * x + 0.5F;
    return y < 0.0F ? 0.0F : y > 1.0F ? 1.0F : y;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > 0.0F && y < 1.0F ? slope * dy : 0.0F; }
  float slope;
};
struct Tanh {
  static constexpr Info info{.name = "tanh", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return tanh_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const { return dy * (1.0F - y * y); }
};
/// y = x / (1 + |x|), whose derivative is (1 - |y|)^2.
struct Softsign {
  static constexpr Info info{.name = "softsign", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x / (1.0F + std::fabs(x)); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& y, const auto& dy) const {
    const auto rest = 1.0F - apply<Abs>(y);
    return dy * rest * rest;
  }
};
/// log(1 + e^x), computed without overflow for any x.
struct Softplus {
  static constexpr Info info{.name = "softplus", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return (x < 0.0F ? 0.0F : x) + log1p_f32(exp_f32(-std::fabs(x)));
  }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy * apply<Sigmoid>(x); }
};
/// x sigmoid(x) (Elfwing et al. 2017), also called swish.
struct Silu {
  static constexpr Info info{.name = "silu", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * sigmoid_f32(x); }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    // Computes 1 - sigmoid(x) without a subtraction, which would lose digits.
    const float e = exp_f32(-std::fabs(x));
    const float larger = 1.0F / (1.0F + e);
    const float s = x < 0.0F ? e * larger : larger;
    const float rest = x < 0.0F ? larger : e * larger;
    return dy * (s * (1.0F + x * rest));
  }
  static auto slope(const auto& x) { return apply<Sigmoid>(x) * (x * apply<Sigmoid>(-x) + 1.0); }
};
/// x relu6(x + 3) / 6 (Howard et al. 2019), also called hard_swish. The gradient is 0 at -3 and 1 at 3.
struct HardSilu {
  static constexpr Info info{.name = "hard_silu", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return x <= -3.0F ? 0.0F : x >= 3.0F ? x : x * (x + 3.0F) * (1.0F / 6.0F);
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    return x <= -3.0F ? 0.0F : x >= 3.0F ? dy : dy * (2.0F * x + 3.0F) * (1.0F / 6.0F);
  }
  static auto slope(const auto& x) {
    return where(less_equal(x, -3), 0.0, where(greater_equal(x, 3), 1.0, (x * 2.0 + 3.0) / 6.0));
  }
};
/// x tanh(softplus(x)) (Misra 2019).
struct Mish {
  static constexpr Info info{.name = "mish", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * tanh_f32(Softplus{}(x)); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    const auto t = apply<Tanh>(apply<Softplus>(x));
    return dy * (t + x * (1.0F - t * t) * apply<Sigmoid>(x));
  }
};
/// log(sigmoid(x)), computed without overflow for any x.
struct LogSigmoid {
  static constexpr Info info{.name = "log_sigmoid", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return -Softplus{}(-x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const { return dy * apply<Sigmoid>(-x); }
};
/// (x + sqrt(x^2 + b)) / 2 (Barron 2021). For x < 0 an equivalent formula avoids cancellation. Where x^2 > 2^26 b, the
/// root equals |x| in f32, so x^2, which could overflow, is not computed.
struct Squareplus {
  static constexpr Info info{.name = "squareplus", .from_result = false};
  LOCKSTEP_HOST_DEVICE float root(float x) const {
    const float size = std::fabs(x);
    return size * 1.5e-8F * size > b ? size : std::sqrt(b + x * x);
  }
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return x < 0.0F ? 0.25F * b / (0.5F * root(x) - 0.5F * x) : 0.5F * x + 0.5F * root(x);
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    const float r = root(x);
    return dy * (x < 0.0F ? 0.5F * b / r / (r - x) : 0.5F * (1.0F + x / r));
  }
  auto slope(const auto& x) const { return (x / apply<Sqrt>(x * x + b) + 1.0) * 0.5; }
  float b;  ///< 1e-30 to 1e30
};
/// 0 for x <= -1, x for x >= 1, and (x + 1)^2 / 4 in between.
struct SparsePlus {
  static constexpr Info info{.name = "sparse_plus", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return x <= -1.0F ? 0.0F : x >= 1.0F ? x : 0.25F * (x + 1.0F) * (x + 1.0F);
  }
  LOCKSTEP_HOST_DEVICE float gradient(float x, float dy) const {
    return x <= -1.0F ? 0.0F : x >= 1.0F ? dy : 0.5F * dy * (x + 1.0F);
  }
  static auto slope(const auto& x) {
    return where(less_equal(x, -1), 0.0, where(greater_equal(x, 1), 1.0, (x + 1.0) * 0.5));
  }
};
/// x clipped to [-1, 1]. NaN stays NaN.
struct HardTanh {
  static constexpr Info info{.name = "hard_tanh", .from_result = true};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x < -1.0F ? -1.0F : x > 1.0F ? 1.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y > -1.0F && y < 1.0F ? dy : 0.0F; }
};
/// 0 if |x| <= threshold, else x. NaN stays NaN.
struct HardShrink {
  static constexpr Info info{.name = "hard_shrink", .from_result = true};
  float threshold;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return std::fabs(x) <= threshold ? 0.0F : x; }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y == 0.0F ? 0.0F : dy; }
};
/// 0 if |x| <= threshold, else x moved toward 0 by the threshold. NaN stays NaN.
struct SoftShrink {
  static constexpr Info info{.name = "soft_shrink", .from_result = true};
  float threshold;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return std::fabs(x) <= threshold ? 0.0F : x > 0.0F ? x - threshold : x + threshold;
  }
  LOCKSTEP_HOST_DEVICE float gradient(float y, float dy) const { return y == 0.0F ? 0.0F : dy; }
};
/// x - tanh(x), whose derivative is tanh(x)^2.
struct TanhShrink {
  static constexpr Info info{.name = "tanh_shrink", .from_result = false};
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x - tanh_f32(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    const auto t = apply<Tanh>(x);
    return dy * t * t;
  }
};
/// x * Phi(x), where Phi is the cumulative distribution function of the standard normal distribution (Hendrycks and
/// Gimpel 2016).
struct Gelu {
  static constexpr Info info{.name = "gelu", .from_result = false};
  LOCKSTEP_HOST_DEVICE static auto share(const auto& x) { return 0.5F + 0.5F * apply<Erf>(x * 0.707106781F); }
  LOCKSTEP_HOST_DEVICE float operator()(float x) const { return x * share(x); }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    const auto density = 0.398942280F * apply<Exp>(-0.5F * x * x);
    return dy * (share(x) + x * density);
  }
};
/// Hendrycks and Gimpel's approximation of Gelu: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
struct GeluTanh {
  static constexpr Info info{.name = "gelu_tanh", .from_result = false};
  static constexpr float factor = 0.797884561F;
  static constexpr float cubic = 0.044715F;
  LOCKSTEP_HOST_DEVICE float operator()(float x) const {
    return 0.5F * x * (1.0F + tanh_f32(factor * (x + cubic * x * x * x)));
  }
  LOCKSTEP_HOST_DEVICE auto gradient(const auto& x, const auto& dy) const {
    const auto t = apply<Tanh>(factor * (x + cubic * x * x * x));
    // If |x| > 10, t is 1 or -1 and the last term is 0. Clipping x to 10 keeps x^2 from overflowing.
    const auto near = apply<Clip>(x, -10.0F, 10.0F);
    const auto slope = factor * (1.0F + 3.0F * cubic * near * near);
    return dy * 0.5F * (1.0F + t + near * (1.0F - t * t) * slope);
  }
};

using ActivationFunctions =
    List<Relu, Relu6, LeakyRelu, Elu, Celu, Selu, Gelu, GeluTanh, Sigmoid, HardSigmoid, Silu, Softplus, Softsign, Tanh,
         HardSilu, Mish, LogSigmoid, Squareplus, SparsePlus, HardTanh, HardShrink, SoftShrink, TanhShrink>;

}  // namespace lockstep::functor
