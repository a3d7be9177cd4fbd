#include <models/layers/operations/operation_case.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/kernels/sorting/sort.h>

namespace lockstep::test {
namespace {

Cases reductions() {
  using Op = Tensor (*)(const Tensor&, const std::vector<int>&, bool);
  const auto over = [](const char* name, Op op) {
    return of_one(name, R"({"axis": [-1], "keepdims": true})", [op](const Tensor& x) { return op(x, {2}, true); });
  };
  Cases cases{over("Logsumexp", logsumexp),
              over("Amax", max),
              over("Amin", min),
              over("Max", max),
              over("Mean", mean),
              over("Min", min),
              over("Prod", prod),
              over("Sum", sum),
              over("Var", var),
              over("Std", [](const Tensor& x, const std::vector<int>& axes, bool keepdims) {
                return lockstep::std(x, axes, keepdims);
              })};
  const Cases more{
      of_one("Sum over two axes", R"({"axis": [1, 2]})",
             [](const Tensor& x) {
               return sum(x, {1, 2});
             }),
      of_one("Average", R"({"axis": -1})", [](const Tensor& x) { return mean(x, {2}); }),
      {"Average with weights",
       {mixed},
       [](const Tensors& x) {
         return Tensors{average(x[0], 1, Tensor::from<float>({1, 0.5, 2}, {3}))};
       },
       R"({"axis": 1})",
       R"([{"tensor": 0}, [1, 0.5, 2]])"},
      {"Average with a batch of weights",
       {mixed, positive},
       [](const Tensors& x) { return Tensors{average(x[0], 2, x[1])}; },
       R"({"axis": 2})"},
      {"Quantile",
       {mixed},
       [](const Tensors& x) {
         return Tensors{quantile(x[0], 0.3, {1, 2})};
       },
       R"({"axis": [1, 2], "method": "linear", "keepdims": false})",
       R"([{"tensor": 0}, 0.3])"},
      of_one("Trace", R"({"offset": 1, "axis1": 1, "axis2": 2})", [](const Tensor& x) { return trace(x, 1, 1, 2); }),
      of_one("Cumprod", R"({"axis": 1})", [](const Tensor& x) { return cumprod(x, 1); }),
      of_one("Cumsum", R"({"axis": -1})", [](const Tensor& x) { return cumsum(x, 2); }),
      {"Einsum",
       {mixed, others},
       [](const Tensors& x) { return Tensors{einsum("bik,bjk->bij", x[0], x[1])}; },
       R"({"subscripts": "bik,bjk->bij"})"},
      {"Einsum of three",
       {mixed, others, mixed},
       [](const Tensors& x) { return Tensors{einsum("bik,bjk,bil->blj", x)}; },
       R"({"subscripts": "bik,bjk,bil->blj"})"},
      {"Matmul", {mixed, [] { return swapaxes(others(), 1, 2); }}, [](const Tensors& x) {
         return Tensors{matmul(x[0], x[1])};
       }}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

constexpr const char* backward_keys = R"([{"tensor": 0}, [{"class_name": "__ellipsis__", "config": {}},
  {"class_name": "__slice__", "config": {"start": null, "stop": null, "step": -1}},
  {"class_name": "__slice__", "config": {"start": -2, "stop": -9, "step": -2}}]])";
constexpr const char* some_keys = R"([{"tensor": 0}, [{"class_name": "__ellipsis__", "config": {}}, null,
  {"class_name": "__slice__", "config": {"start": 1, "stop": null, "step": 2}}, -1]])";

Cases shapes() {
  return {
      {"Concatenate", {mixed, others}, [](const Tensors& x) { return Tensors{concatenate(x, 1)}; }, R"({"axis": 1})"},
      {"Stack", {mixed, others}, [](const Tensors& x) { return Tensors{stack(x, 3)}; }, R"({"axis": -1})"},
      {"GetItem",
       {mixed},
       [](const Tensors& x) {
         return Tensors{reshape(slice(slice(x[0], 1, 1, 2), 2, 3, 4), {2, 1, 1})};
       },
       "{}",
       some_keys},
      {"GetItem backwards",
       {mixed},
       [](const Tensors& x) {
         return Tensors{flip(concatenate(Tensors{slice(x[0], 2, 0, 1), slice(x[0], 2, 2, 3)}, 2), {1, 2})};
       },
       "{}",
       backward_keys},
      {"Slice",
       {mixed},
       [](const Tensors& x) { return Tensors{slice(slice(x[0], 1, 1, 3), 2, 2, 4)}; },
       R"({"shape": [-1, 2, -1]})",
       R"([{"tensor": 0}, [0, 1, 2]])"},
      {"SliceUpdate",
       {mixed, [] { return slice(slice(others(), 1, 0, 2), 2, 0, 3); }},
       [](const Tensors& x) {
         return Tensors{slice_update(x[0], {0, 1, 1}, x[1])};
       },
       "{}",
       R"([{"tensor": 0}, [0, 1, 1], {"tensor": 1}])"},
      of_one("Diagonal", R"({"offset": -1, "axis1": 1, "axis2": 2})",
             [](const Tensor& x) { return diagonal(x, -1, 1, 2); }),
      {"Split",
       {mixed},
       [](const Tensors& x) { return split(x[0], 2, 2); },
       R"({"indices_or_sections": 2, "axis": -1})"},
      {"Split at indices",
       {mixed},
       [](const Tensors& x) {
         return Tensors{slice(x[0], 2, 0, 1), slice(x[0], 2, 1, 4)};
       },
       R"({"indices_or_sections": [1], "axis": 2})"},
      {"Unstack", {mixed}, [](const Tensors& x) { return unstack(x[0], 1); }, R"({"num": 3, "axis": 1})"},
      of_one("ExpandDims", R"({"axis": 1})", [](const Tensor& x) { return expand_dims(x, 1); }),
      of_one("ExpandDims of several axes", R"({"axis": [1, -1]})",
             [](const Tensor& x) {
               return expand_dims(x, {1, 4});
             }),
      of_one("Flip", R"({"axis": [1, 2]})",
             [](const Tensor& x) {
               return flip(x, {1, 2});
             }),
      of_one("Moveaxis", R"({"source": 1, "destination": -1})", [](const Tensor& x) { return moveaxis(x, 1, -1); }),
      of_one("Moveaxis of several axes", R"({"source": [1, 2], "destination": [2, 1]})",
             [](const Tensor& x) { return swapaxes(x, 1, 2); }),
      of_one("Repeat", R"({"repeats": 3, "axis": 1})", [](const Tensor& x) { return repeat(x, 3, 1); }),
      of_one("Repeat of each slice", R"({"repeats": [2, 0, 1], "axis": 1})",
             [](const Tensor& x) {
               return repeat(x, {2, 0, 1}, 1);
             }),
      of_one("Reshape", R"({"newshape": [-1, 2, 6]})",
             [](const Tensor& x) {
               return reshape(x, {2, 2, 6});
             }),
      of_one("Roll", R"({"shift": -1, "axis": 2})", [](const Tensor& x) { return roll(x, -1, 2); }),
      of_one("Roll along two axes", R"({"shift": [1, 2], "axis": [1, -1]})",
             [](const Tensor& x) { return roll(roll(x, 1, 1), 2, 2); }),
      of_one("Roll of one shift along two axes", R"({"shift": 1, "axis": [1, 2]})",
             [](const Tensor& x) { return roll(roll(x, 1, 1), 1, 2); }),
      {"Squeeze of two axes",
       {[] {
         return expand_dims(mixed(), {1, 3});
       }},
       [](const Tensors&) { return Tensors{mixed()}; },
       R"({"axis": [1, -2]})"},
      {"Squeeze",
       {[] { return expand_dims(mixed(), 1); }},
       [](const Tensors&) { return Tensors{mixed()}; },
       R"({"axis": 1})"},
      of_one("Swapaxes", R"({"axis1": 1, "axis2": -1})", [](const Tensor& x) { return swapaxes(x, 1, 2); }),
      of_one("Transpose", R"({"axes": [0, 2, 1]})", [](const Tensor& x) {
        return transpose(x, {0, 2, 1});
      })};
}

}  // namespace

Cases array_cases() { return joined({reductions(), shapes()}); }

}  // namespace lockstep::test
