#include <models/layers/operations/operation_case.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/image/depth_to_space.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep::test {
namespace {

/// Numbers 0 to 3, whose shape is mixed()'s.
Tensor digits() { return cast(abs(mixed()), DType::i64); }
Tensor truths() { return greater(mixed(), 0.25); }
Tensor infinite() { return log(relu(mixed())) + reciprocal(relu(others())); }

Cases logic() {
  const auto of_truths = [](const char* name, Tensor (*op)(const Tensor&, const Tensor&)) {
    return OperationCase{
        name, {truths, digits}, [op](const Tensors& x) { return Tensors{op(x[0], cast(x[1], DType::boolean))}; }};
  };
  return {
      of_two("Equal", equal),
      of_two("Greater", greater),
      of_two("GreaterEqual", greater_equal),
      of_two("Less", less),
      of_two("LessEqual", less_equal),
      of_two("NotEqual", not_equal),
      of_truths("LogicalAnd", logical_and),
      of_truths("LogicalOr", logical_or),
      of_truths("LogicalXor", logical_xor),
      each("LogicalNot", logical_not, truths),
      each("Isfinite", isfinite, infinite),
      each("Isinf", isinf, infinite),
      each("Isnan", isnan, infinite),
      {"Equal of a number",
       {digits},
       [](const Tensors& x) { return Tensors{equal(x[0], 2)}; },
       "{}",
       R"([{"tensor": 0}, 2])"},
      {"LogicalAnd of a constant",
       {truths},
       [](const Tensors& x) {
         return Tensors{concatenate(
             Tensors{slice(x[0], 2, 0, 2), logical_and(slice(x[0], 2, 2, 4), zeros_like(slice(x[0], 2, 2, 4)))}, 2)};
       },
       "{}",
       R"([{"tensor": 0}, {"class_name": "__tensor__", "config": {"value": [true, true, false, false], "dtype": "bool"}}])"},
      of_one("CountNonzero", R"({"axis": -1, "keepdims": false})",
             [](const Tensor& x) { return count_nonzero(x, {2}); }),
      {"Isclose",
       {mixed, others},
       [](const Tensors& x) { return Tensors{isclose(x[0], x[1], 0.25, 0.5)}; },
       R"({"equal_nan": false})",
       R"([{"tensor": 0}, {"tensor": 1}, 0.25, 0.5])"},
      of_one("All", R"({"axis": [1], "keepdims": true})", [](const Tensor& x) { return all(x, {1}, true); }),
      of_one("Any", R"({"axis": -1})", [](const Tensor& x) { return any(x, {2}); }),
      {"Where", {truths, mixed, others}, [](const Tensors& x) { return Tensors{where(x[0], x[1], x[2])}; }},
      {"Where of a number",
       {truths, mixed},
       [](const Tensors& x) { return Tensors{where(x[0], x[1], -2)}; },
       "{}",
       R"([{"tensor": 0}, {"tensor": 1}, -2])"},
      {"Where of numbers",
       {truths},
       [](const Tensors& x) { return Tensors{cast(x[0], DType::f32) * 0.5}; },
       "{}",
       R"([{"tensor": 0}, 0.5, 0])"}};
}

Cases indexing() {
  return {{"Argmax", {mixed}, [](const Tensors& x) { return Tensors{argmax(x[0], 1)}; }, R"({"axis": 1})"},
          {"Argmin",
           {mixed},
           [](const Tensors& x) { return Tensors{argmin(x[0], -1, true)}; },
           R"({"axis": -1, "keepdims": true})"},
          of_one("Median", R"({"axis": [1], "keepdims": true})", [](const Tensor& x) { return median(x, {1}, true); }),
          of_one("Diff", R"({"n": 2, "axis": -1})", [](const Tensor& x) { return diff(x, 2, 2); }),
          {"DepthToSpace",
           {[] {
             return reshape(mixed(), {2, 3, 1, 4});
           }},
           [](const Tensors& x) { return Tensors{depth_to_space(x[0], 2)}; },
           R"({"block_size": 2, "data_format": "channels_last"})"},
          {"SpaceToDepth",
           {[] {
             return reshape(mixed(), {2, 2, 2, 3});
           }},
           [](const Tensors& x) { return Tensors{space_to_depth(x[0], 2)}; },
           R"({"block_size": 2, "data_format": "channels_last"})"},
          {"Argsort", {mixed}, [](const Tensors& x) { return Tensors{argsort(x[0], 1)}; }, R"({"axis": 1})"},
          {"Sort", {mixed}, [](const Tensors& x) { return Tensors{sort(x[0], 2)}; }, R"({"axis": -1})"},
          {"TopK",
           {mixed},
           [](const Tensors& x) {
             const TopK found = top_k(x[0], 3);
             return Tensors{found.values, found.indices};
           },
           R"({"k": 3, "sorted": true})"},
          {"Take",
           {mixed},
           [](const Tensors& x) {
             return Tensors{take(x[0], Tensor::from<std::int64_t>({3, 0, 3}, {3}), 2)};
           },
           R"({"axis": -1})",
           R"([{"tensor": 0}, [3, 0, -1]])"},
          {"Take of a constant",
           {digits},
           [](const Tensors& x) {
             return Tensors{take(Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {8}), x[0], 0)};
           },
           "{}",
           R"([{"class_name": "__numpy__", "config": {"value": [[1, 2], [3, 4], [5, 6], [7, 8]], "dtype": "float32"}},
           {"tensor": 0}])"},
          {"TakeAlongAxis",
           {mixed, [] { return slice(minimum(digits(), 2), 1, 1, 3); }},
           [](const Tensors& x) { return Tensors{take_along_axis(x[0], x[1], 1)}; },
           R"({"axis": 1})"},
          {"OneHot",
           {digits},
           [](const Tensors& x) { return Tensors{one_hot(x[0], 3, 1)}; },
           R"({"num_classes": 3, "axis": 1, "dtype": null, "sparse": false})"}};
}

constexpr const char* some_widths = R"({"pad_width": [[0, 0], [1, 2], [2, 0]], "mode": "reflect"})";

Cases creation() {
  return {of_one("BroadcastTo", R"({"shape": [2, 3, 4]})", [](const Tensor& x) { return x; }),
          {"BroadcastTo of one row",
           {[] { return slice(mixed(), 1, 0, 1); }},
           [](const Tensors& x) {
             return Tensors{concatenate(Tensors{x[0], x[0], x[0]}, 1)};
           },
           R"({"shape": [null, 3, 4]})"},
          {"FullLike",
           {mixed},
           [](const Tensors& x) { return Tensors{full_like(x[0], 0.5)}; },
           R"({"dtype": null})",
           R"([{"tensor": 0}, 0.5])"},
          of_one("ZerosLike", R"({"dtype": null})", [](const Tensor& x) { return zeros_like(x); }),
          of_one("OnesLike of integers", R"({"dtype": "int32"})",
                 [](const Tensor& x) { return cast(ones_like(x), DType::i32); }),
          of_one("Cast to integers", R"({"dtype": "int64"})", [](const Tensor& x) { return cast(x, DType::i64); }),
          of_one("Cast to bool", R"({"dtype": "bool"})", [](const Tensor& x) { return cast(x, DType::boolean); }),
          {"Pad",
           {mixed},
           [](const Tensors& x) {
             return Tensors{pad(x[0], {{}, {1, 2}, {2, 0}}, PadMode::reflect)};
           },
           some_widths},
          {"Pad with a number",
           {mixed},
           [](const Tensors& x) {
             return Tensors{pad(x[0], {{}, {}, {1, 0}}, PadMode::constant, 7)};
           },
           R"({"pad_width": [[0, 0], [0, 0], [1, 0]], "mode": "constant"})",
           R"([{"tensor": 0}, 7])"},
          of_one("Tile", R"({"repeats": [1, 2, 1]})",
                 [](const Tensor& x) {
                   return tile(x, {1, 2, 1});
                 }),
          of_one("Tril", R"({"k": -1})", [](const Tensor& x) { return tril(x, -1); }),
          of_one("Triu", R"({"k": 1})", [](const Tensor& x) { return triu(x, 1); })};
}

Tensor heads() { return reshape(concatenate(Tensors{mixed(), others()}, 2), {2, 3, 2, 4}); }

Cases products() {
  return {
      of_one("Norm", R"({"ord": null, "axis": [1, 2], "keepdims": true})",
             [](const Tensor& x) {
               return norm(x, {1, 2}, true);
             }),
      of_one("Norm of an order", R"({"ord": 1, "axis": [1]})", [](const Tensor& x) { return norm(x, {1}, false, 1); }),
      of_one("Norm of an order that is a fraction", R"({"ord": 2.5, "axis": [2], "keepdims": true})",
             [](const Tensor& x) { return norm(x, {2}, true, 2.5); }),
      of_one("Norm of matrices", R"({"ord": -1, "axis": [1, 2]})",
             [](const Tensor& x) {
               return norm(x, {1, 2}, false, -1);
             }),
      of_one("Norm of matrices by Frobenius", R"({"ord": "fro", "axis": [1, 2]})",
             [](const Tensor& x) {
               return norm(x, {1, 2});
             }),
      of_one("Norm of matrices by their largest singular values", R"({"ord": 2, "axis": [1, 2]})",
             [](const Tensor& x) {
               return norm(x, {1, 2}, false, 2);
             }),
      of_one("Norm of matrices by all singular values", R"({"ord": "nuc", "axis": [1, 2], "keepdims": true})",
             [](const Tensor& x) {
               return norm(x, {1, 2}, true, "nuc");
             }),
      of_one("Norm of vectors", R"({"ord": 2, "axis": [-1]})", [](const Tensor& x) { return norm(x, {2}); }),
      {"DotProductAttention",
       {heads, [] { return flip(heads()); }, heads},
       [](const Tensors& x) { return Tensors{dot_product_attention(x[0], x[1], x[2], {.is_causal = true})}; },
       R"({"is_causal": true, "flash_attention": null, "attn_logits_soft_cap": null})"},
      {"DotProductAttention with a mask",
       {heads, [] { return flip(heads()); }, heads,
        [] {
          return reshape(slice(truths(), 2, 0, 3), {2, 1, 3, 3});
        }},
       [](const Tensors& x) {
         return Tensors{dot_product_attention(x[0], x[1], x[2], {.scale = 0.25F, .mask = x[3]})};
       },
       R"({"is_causal": false})",
       R"([{"tensor": 0}, {"tensor": 1}, {"tensor": 2}, null, {"tensor": 3}, 0.25])"},
      {"DotProductAttention with a bias",
       {heads, [] { return flip(heads()); }, heads,
        [] {
          return reshape(slice(mixed(), 2, 0, 3), {2, 1, 3, 3});
        }},
       [](const Tensors& x) { return Tensors{dot_product_attention(x[0], x[1], x[2], {.bias = x[3]})}; },
       "{}",
       R"([{"tensor": 0}, {"tensor": 1}, {"tensor": 2}, {"tensor": 3}])"},
      {"Dot",
       {mixed},
       [](const Tensors& x) {
         return Tensors{dot(x[0], Tensor::from<float>({1, 2, 3, 4}, {4, 1}))};
       },
       "{}",
       R"([{"tensor": 0}, [[1.0], [2.0], [3.0], [4.0]]])"},
      {"Tensordot",
       {mixed},
       [](const Tensors& x) {
         return Tensors{tensordot(x[0], Tensor::from<float>({1, 2, 3}, {3}), {1}, {0})};
       },
       R"({"axes": [[1], [0]]})",
       R"([{"tensor": 0}, [1.0, 2.0, 3.0]])"}};
}

/// Operands of two dtypes, and integers in functions of real numbers.
Cases conversions() {
  return {
      {"Multiply of bool", {truths, mixed}, [](const Tensors& x) { return Tensors{cast(x[0], DType::f32) * x[1]}; }},
      {"Add of integers", {digits}, [](const Tensors& x) { return Tensors{x[0] + 1}; }, "{}", R"([{"tensor": 0}, 1])"},
      {"Add of integers and a fraction",
       {digits},
       [](const Tensors& x) { return Tensors{cast(x[0], DType::f32) + 0.5}; },
       "{}",
       R"([{"tensor": 0}, 0.5])"},
      {"Add of a constant",
       {mixed},
       [](const Tensors& x) {
         return Tensors{x[0] + Tensor::from<float>({1, 2, 3, 4}, {4})};
       },
       "{}",
       R"([{"tensor": 0}, {"class_name": "__tensor__", "config": {"value": [1, 2, 3, 4], "dtype": "float64"}}])"},
      {"Divide of integers", {digits, others}, [](const Tensors& x) { return Tensors{cast(x[0], DType::f32) / x[1]}; }},
      {"Mean of bool",
       {truths},
       [](const Tensors& x) { return Tensors{mean(cast(x[0], DType::f32), {1})}; },
       R"({"axis": 1})"},
      {"Sum of bool", {truths}, [](const Tensors& x) { return Tensors{sum(x[0], {1})}; }, R"({"axis": 1})"},
      {"Cumsum of bool",
       {truths},
       [](const Tensors& x) { return Tensors{cumsum(cast(x[0], DType::i32), 1)}; },
       R"({"axis": 1})"},
      {"Add of bool", {truths, truths}, [](const Tensors& x) { return Tensors{logical_or(x[0], x[1])}; }},
      {"Matmul of integers",
       {digits, [] { return swapaxes(digits(), 1, 2); }},
       [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; }},
      {"Einsum of integers and bool",
       {digits, truths},
       [](const Tensors& x) { return Tensors{einsum("bik,bjk->bij", x[0], cast(x[1], DType::i64))}; },
       R"({"subscripts": "bik,bjk->bij"})"},
      {"Trunc of integers", {digits}, [](const Tensors& x) { return Tensors{x[0]}; }},
      {"Negative of integers", {digits}, [](const Tensors& x) { return Tensors{negative(x[0])}; }},
      {"Exp of integers", {digits}, [](const Tensors& x) { return Tensors{exp(cast(x[0], DType::f32))}; }}};
}

}  // namespace

Cases mask_and_index_cases() { return joined({logic(), indexing(), creation(), products(), conversions()}); }

}  // namespace lockstep::test
