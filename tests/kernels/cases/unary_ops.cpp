#include <cmath>

#include <kernels/cases/unary_ops.h>

#include <lockstep/kernels/array/elementwise.h>

namespace lockstep::test {

const std::vector<UnaryOp>& unary_ops() {
  static const auto& all = *new std::vector<UnaryOp>{
      {"negative", negative, [](double x) { return -x; }, -2, 2, Integers::kept_but_bool},
      {"exp", exp, [](double x) { return std::exp(x); }, -3, 3, Integers::give_f32},
      {"log", log, [](double x) { return std::log(x); }, 0.7, 4, Integers::give_f32},
      {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.3, 4, Integers::give_f32},
      {"cbrt", cbrt, [](double x) { return std::cbrt(x); }, 0.3, 4, Integers::give_f32},
      {"square", square, [](double x) { return x * x; }, -2, 2, Integers::bool_gives_i32},
      {"abs", abs, [](double x) { return std::abs(x); }, -2, 2, Integers::kept_as_all},
      {"exp2", exp2, [](double x) { return std::exp2(x); }, -3, 3, Integers::give_f32},
      {"log2", log2, [](double x) { return std::log2(x); }, 0.7, 4, Integers::give_f32},
      {"log10", log10, [](double x) { return std::log10(x); }, 0.7, 4, Integers::give_f32},
      {"log1p", log1p, [](double x) { return std::log1p(x); }, -0.5, 3, Integers::give_f32},
      {"expm1", expm1, [](double x) { return std::expm1(x); }, -3, 2, Integers::give_f32},
      {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.7, 4, Integers::give_f32},
      {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.7, 3, Integers::give_f32},
      {"erf", erf, [](double x) { return std::erf(x); }, -2, 2, Integers::give_f32},
      {"sin", sin, [](double x) { return std::sin(x); }, -4, 4, Integers::give_f32},
      {"cos", cos, [](double x) { return std::cos(x); }, -4, 4, Integers::give_f32},
      {"tan", tan, [](double x) { return std::tan(x); }, -1.2, 1.2, Integers::give_f32},
      {"arcsin", arcsin, [](double x) { return std::asin(x); }, -0.9, 0.9, Integers::give_f32},
      {"arccos", arccos, [](double x) { return std::acos(x); }, -0.9, 0.9, Integers::give_f32},
      {"arctan", arctan, [](double x) { return std::atan(x); }, -3, 3, Integers::give_f32},
      {"sinh", sinh, [](double x) { return std::sinh(x); }, -3, 3, Integers::give_f32},
      {"cosh", cosh, [](double x) { return std::cosh(x); }, -3, 3, Integers::give_f32},
      {"arcsinh", arcsinh, [](double x) { return std::asinh(x); }, -3, 3, Integers::give_f32},
      {"arccosh", arccosh, [](double x) { return std::acosh(x); }, 1.3, 4, Integers::give_f32},
      {"arctanh", arctanh, [](double x) { return std::atanh(x); }, -0.6, 0.6, Integers::give_f32},
      {"sign", sign, [](double x) { return x > 0   ? 1.0
                                           : x < 0 ? -1.0
                                                   : 0.0; }, -2, 2, Integers::kept_but_bool},
      {"floor", floor, [](double x) { return std::floor(x); }, -3, 3, Integers::give_f32},
      {"ceil", ceil, [](double x) { return std::ceil(x); }, -3, 3, Integers::give_f32},
      {"trunc", trunc, [](double x) { return std::trunc(x); }, -3, 3, Integers::kept_as_all},
  };
  return all;
}

}  // namespace lockstep::test
