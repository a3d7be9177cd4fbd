#include <models/layers/operations/operation_case.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep::test {
namespace {

Tensor fractions() { return tanh(mixed()); }

Cases functions() {
  return {
      each("Absolute", abs),
      each("Ceil", ceil),
      each("Cos", cos),
      each("Arccos", arccos, fractions),
      each("Arccosh", arccosh, [] { return positive() + 1.0; }),
      each("Arcsin", arcsin, fractions),
      each("Arcsinh", arcsinh),
      each("Arctan", arctan),
      each("Arctanh", arctanh, fractions),
      each("Cosh", cosh),
      each("Erf", erf),
      each("Exp", exp),
      each("Expm1", expm1),
      each("Floor", floor),
      each("Log", log, positive),
      each("Log10", log10, positive),
      each("Log1p", log1p, positive),
      each("Log2", log2, positive),
      each("Negative", negative),
      each("Reciprocal", reciprocal),
      of_one("Round", "{}", [](const Tensor& x) { return round(x); }),
      of_one("Round to one decimal", R"({"decimals": 1})", [](const Tensor& x) { return round(x, 1); }),
      each("Rsqrt", rsqrt, positive),
      each("Sign", sign),
      each("Sin", sin),
      each("Sqrt", sqrt, positive),
      each("Sinh", sinh),
      each("Square", square),
      each("StopGradient", stop_gradient),
      each("Tan", tan),
      each("Trunc", trunc),
      of_two("Add", add),
      of_two("Arctan2", arctan2),
      of_two("Divide", divide),
      of_two("FloorDivide", floor_divide),
      of_two("Logaddexp", logaddexp),
      of_two("Maximum", maximum),
      of_two("Minimum", minimum),
      of_two("Mod", mod),
      of_two("Multiply", multiply),
      of_two("Power", power, positive),
      of_two("Subtract", subtract),
      of_two("TrueDivide", divide),
      {"Power of a number",
       {mixed},
       [](const Tensors& x) { return Tensors{power(2.5, x[0])}; },
       "{}",
       R"([2.5, {"tensor": 0}])"},
      {"Mod of a number",
       {mixed},
       [](const Tensors& x) { return Tensors{mod(x[0], 1.5)}; },
       "{}",
       R"([{"tensor": 0}, 1.5])"},
      {"Maximum of a number",
       {mixed},
       [](const Tensors& x) { return Tensors{maximum(x[0], 0.5)}; },
       "{}",
       R"([{"tensor": 0}, 0.5])"},
      of_one("Cast", R"({"dtype": "float32"})", [](const Tensor& x) { return x; }),
      of_one("ConvertToTensor", R"({"dtype": null, "sparse": null})", [](const Tensor& x) { return x; }),
      of_one("Clip", R"({"x_min": -1, "x_max": 0.5})", [](const Tensor& x) { return clip(x, -1, 0.5); }),
      of_one("Clip from below", R"({"x_min": 0.5, "x_max": null})", [](const Tensor& x) { return maximum(x, 0.5); }),
      of_one("Clip from above", R"({"x_min": null, "x_max": 1})", [](const Tensor& x) { return minimum(x, 1); }),
      of_one("OnesLike", R"({"dtype": null})", [](const Tensor& x) { return ones_like(x); })};
}

Cases activations() {
  return {each("HardSigmoid", hard_sigmoid),
          each("HardSilu", hard_silu),
          each("HardTanh", hard_tanh),
          each("LogSigmoid", log_sigmoid),
          each("Relu", relu),
          each("Relu6", relu6),
          each("Selu", selu),
          each("Sigmoid", sigmoid),
          each("Silu", silu),
          each("Softplus", softplus),
          each("Softsign", softsign),
          each("SparsePlus", sparse_plus),
          each("SparseSigmoid", sparse_sigmoid),
          each("Tanh", tanh),
          each("TanhShrink", tanh_shrink),
          of_one("Celu", R"({"alpha": 0.5})", [](const Tensor& x) { return celu(x, 0.5); }),
          of_one("Elu", R"({"alpha": 0.5})", [](const Tensor& x) { return elu(x, 0.5); }),
          of_one("Gelu", R"({"approximate": false})", [](const Tensor& x) { return gelu(x, false); }),
          of_one("Gelu approximately", "{}", [](const Tensor& x) { return gelu(x, true); }),
          of_one("Glu", R"({"axis": 2})", [](const Tensor& x) { return glu(x, 2); }),
          of_one("HardShrink", R"({"threshold": 0.75})", [](const Tensor& x) { return hard_shrink(x, 0.75); }),
          of_one("LeakyRelu", R"({"negative_slope": 0.25})", [](const Tensor& x) { return leaky_relu(x, 0.25); }),
          of_one("LogSoftmax", R"({"axis": 1})", [](const Tensor& x) { return log_softmax(x, std::vector{1}); }),
          of_one("SoftShrink", R"({"threshold": 0.75})", [](const Tensor& x) { return soft_shrink(x, 0.75); }),
          of_one("Softmax", R"({"axis": [1, -1]})",
                 [](const Tensor& x) {
                   return softmax(x, std::vector{1, 2});
                 }),
          of_one("Squareplus", R"({"b": 0.5})", [](const Tensor& x) { return squareplus(x, 0.5); }),
          of_one("Threshold", R"({"threshold": 0.5, "default_value": -1})",
                 [](const Tensor& x) { return threshold(x, 0.5, -1); })};
}

}  // namespace

Cases function_cases() { return joined({functions(), activations()}); }

}  // namespace lockstep::test
