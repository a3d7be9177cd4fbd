#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

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
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/kernels/sorting/sparsemax.h>
#include <lockstep/models/data/numpy_file.h>

#include "print_tensor.h"

// usage: ops_driver FOLDER
// Calls each op of the table with the arrays "0", "1", ... of FOLDER/NAME.npz and prints the result: the row's name,
// then dtype, shape and values. ops_interop.py has the same rows.

namespace {

using namespace lockstep;
using test::print;
using Inputs = std::vector<Tensor>;
using Call = std::function<Tensor(const Inputs&)>;
using Rows = std::map<std::string, Call>;

template <Tensor (*op)(const Tensor&)>
Tensor of_one(const Inputs& x) {
  return op(x[0]);
}

template <Tensor (*op)(const Tensor&, const Tensor&)>
Tensor of_two(const Inputs& x) {
  return op(x[0], x[1]);
}

template <Tensor (*op)(const Tensor&, const std::vector<int>&, bool)>
Tensor of_axes(const Inputs& x) {
  return op(x[0], {0, -1}, true);
}

void add_elementwise(Rows& rows) {
  rows["add"] = of_two<add>;
  rows["subtract"] = of_two<subtract>;
  rows["multiply"] = of_two<multiply>;
  rows["divide"] = of_two<divide>;
  rows["maximum"] = of_two<maximum>;
  rows["minimum"] = of_two<minimum>;
  rows["power"] = of_two<power>;
  rows["squared_difference"] = of_two<squared_difference>;
  rows["add_n"] = [](const Inputs& x) { return add_n(x); };
  rows["negative"] = of_one<negative>;
  rows["exp"] = of_one<exp>;
  rows["log"] = of_one<log>;
  rows["log2"] = of_one<log2>;
  rows["log10"] = of_one<log10>;
  rows["log1p"] = of_one<log1p>;
  rows["expm1"] = of_one<expm1>;
  rows["sqrt"] = of_one<sqrt>;
  rows["rsqrt"] = of_one<rsqrt>;
  rows["square"] = of_one<square>;
  rows["reciprocal"] = of_one<reciprocal>;
  rows["sin"] = of_one<sin>;
  rows["cos"] = of_one<cos>;
  rows["erf"] = of_one<erf>;
  rows["abs"] = of_one<abs>;
  rows["sign"] = of_one<sign>;
  rows["floor"] = of_one<floor>;
  rows["ceil"] = of_one<ceil>;
  rows["round"] = of_one<round>;
  rows["clip"] = [](const Inputs& x) { return clip(x[0], -0.5, 1.25); };
  rows["cast"] = [](const Inputs& x) { return cast(x[0], DType::i32); };
}

void add_comparisons(Rows& rows) {
  rows["equal"] = of_two<equal>;
  rows["not_equal"] = of_two<not_equal>;
  rows["less"] = of_two<less>;
  rows["less_equal"] = of_two<less_equal>;
  rows["greater"] = of_two<greater>;
  rows["greater_equal"] = of_two<greater_equal>;
  rows["logical_and"] = of_two<logical_and>;
  rows["logical_or"] = of_two<logical_or>;
  rows["logical_xor"] = of_two<logical_xor>;
  rows["logical_not"] = of_one<logical_not>;
  rows["where"] = [](const Inputs& x) { return where(x[0], x[1], x[2]); };
  rows["isnan"] = of_one<isnan>;
  rows["isinf"] = of_one<isinf>;
  rows["isfinite"] = of_one<isfinite>;
}

void add_activations(Rows& rows) {
  rows["relu"] = of_one<relu>;
  rows["relu6"] = of_one<relu6>;
  rows["leaky_relu"] = [](const Inputs& x) { return leaky_relu(x[0], 0.3); };
  rows["elu"] = [](const Inputs& x) { return elu(x[0], 1.5); };
  rows["selu"] = of_one<selu>;
  rows["gelu"] = [](const Inputs& x) { return gelu(x[0]); };
  rows["gelu_approximate"] = [](const Inputs& x) { return gelu(x[0], true); };
  rows["sigmoid"] = of_one<sigmoid>;
  rows["hard_sigmoid"] = of_one<hard_sigmoid>;
  rows["silu"] = of_one<silu>;
  rows["hard_silu"] = of_one<hard_silu>;
  rows["mish"] = of_one<mish>;
  rows["softplus"] = of_one<softplus>;
  rows["log_sigmoid"] = of_one<log_sigmoid>;
  rows["squareplus"] = of_one<squareplus>;
  rows["sparse_plus"] = of_one<sparse_plus>;
  rows["softsign"] = of_one<softsign>;
  rows["tanh"] = of_one<tanh>;
  rows["hard_tanh"] = of_one<hard_tanh>;
  rows["tanh_shrink"] = of_one<tanh_shrink>;
  rows["hard_shrink"] = [](const Inputs& x) { return hard_shrink(x[0], 0.75); };
  rows["soft_shrink"] = [](const Inputs& x) { return soft_shrink(x[0], 0.75); };
  rows["sparse_sigmoid"] = of_one<sparse_sigmoid>;
  rows["threshold"] = [](const Inputs& x) { return threshold(x[0], 0.5, -1); };
  rows["glu"] = [](const Inputs& x) { return glu(x[0], 1); };
  rows["sparsemax"] = [](const Inputs& x) { return sparsemax(x[0], 1); };
  rows["softmax"] = [](const Inputs& x) { return softmax(x[0], {0, 2}); };
  rows["log_softmax"] = [](const Inputs& x) { return log_softmax(x[0], {1}); };
}

void add_creation(Rows& rows) {
  rows["arange"] = [](const Inputs&) { return arange(1, 7, 0.75); };
  rows["linspace"] = [](const Inputs&) { return linspace(-1, 2, 7); };
  rows["linspace_without_end"] = [](const Inputs&) { return linspace(-1, 2, 8, false); };
  rows["full_like"] = [](const Inputs& x) { return full_like(x[0], 2.5); };
  rows["zeros_like"] = of_one<zeros_like>;
  rows["ones_like"] = of_one<ones_like>;
  rows["eye"] = [](const Inputs&) { return eye(3, 5, 1); };
  rows["tril"] = [](const Inputs& x) { return tril(x[0], -1); };
  rows["triu"] = [](const Inputs& x) { return triu(x[0], 1); };
  rows["one_hot"] = [](const Inputs& x) { return one_hot(x[0], 4, 1); };
}

void add_shapes(Rows& rows) {
  rows["reshape"] = [](const Inputs& x) { return reshape(x[0], {4, 6}); };
  rows["concatenate"] = [](const Inputs& x) { return concat(x, 1); };
  rows["split"] = [](const Inputs& x) { return split(x[0], 2, -1)[1]; };
  rows["transpose"] = [](const Inputs& x) { return transpose(x[0], {2, 0, 1}); };
  rows["expand_dims"] = [](const Inputs& x) { return expand_dims(x[0], -2); };
  rows["squeeze"] = [](const Inputs& x) { return squeeze(x[0], {1}); };
  rows["stack"] = [](const Inputs& x) { return stack(x, -1); };
  rows["unstack"] = [](const Inputs& x) { return unstack(x[0], 1)[2]; };
  rows["broadcast_to"] = [](const Inputs& x) { return broadcast_to(x[0], {5, 2, 3, 4}); };
  rows["tile"] = [](const Inputs& x) { return tile(x[0], {2, 1, 3}); };
  rows["repeat"] = [](const Inputs& x) { return repeat(x[0], 3, 1); };
  rows["flip"] = [](const Inputs& x) { return flip(x[0], {0, -1}); };
  rows["roll"] = [](const Inputs& x) { return roll(x[0], -5, 2); };
  rows["moveaxis"] = [](const Inputs& x) { return moveaxis(x[0], 0, -1); };
  rows["swapaxes"] = [](const Inputs& x) { return swapaxes(x[0], 1, -1); };
  const std::vector<PadWidth> width{{0, 1}, {2, 1}, {1, 3}};
  rows["pad_constant"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::constant, 0.5); };
  rows["pad_reflect"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::reflect); };
  rows["pad_symmetric"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::symmetric); };
  rows["pad_edge"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::edge); };
}

void add_reductions(Rows& rows) {
  rows["sum"] = of_axes<sum>;
  rows["mean"] = of_axes<mean>;
  rows["max"] = of_axes<max>;
  rows["min"] = of_axes<min>;
  rows["any"] = of_axes<any>;
  rows["all"] = of_axes<all>;
  rows["prod"] = of_axes<prod>;
  rows["var"] = of_axes<var>;
  rows["std"] = of_axes<lockstep::std>;
  rows["norm"] = of_axes<norm>;
  rows["logsumexp"] = of_axes<logsumexp>;
  rows["argmax"] = [](const Inputs& x) { return argmax(x[0], 1); };
  rows["argmin"] = [](const Inputs& x) { return argmin(x[0], -1, true); };
  rows["cumsum"] = [](const Inputs& x) { return cumsum(x[0], 1); };
  rows["cumprod"] = [](const Inputs& x) { return cumprod(x[0], -1); };
  rows["sort"] = [](const Inputs& x) { return sort(x[0], 1); };
  rows["argsort"] = [](const Inputs& x) { return argsort(x[0]); };
  rows["top_k_values"] = [](const Inputs& x) { return top_k(x[0], 3).values; };
  rows["top_k_indices"] = [](const Inputs& x) { return top_k(x[0], 3).indices; };
}

void add_indexing(Rows& rows) {
  rows["take"] = [](const Inputs& x) { return take(x[0], x[1], 1); };
  rows["take_along_axis"] = [](const Inputs& x) { return take_along_axis(x[0], x[1], 1); };
  rows["embedding_lookup"] = of_two<embedding_lookup>;
  rows["scatter"] = [](const Inputs& x) { return scatter(x[0], x[1], {4, 3}); };
  rows["scatter_update"] = [](const Inputs& x) { return scatter_update(x[0], x[1], x[2]); };
  rows["segment_sum"] = [](const Inputs& x) { return segment_sum(x[0], x[1], 4); };
}

void add_products(Rows& rows) {
  rows["matmul"] = of_two<matmul>;
  rows["dot"] = of_two<dot>;
  rows["outer"] = of_two<outer>;
  rows["tensordot"] = [](const Inputs& x) { return tensordot(x[0], x[1], {2, 0}, {0, 1}); };
  rows["einsum"] = [](const Inputs& x) { return einsum("b...i,bij->...bj", x[0], x[1]); };
  rows["attention"] = [](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2]); };
  rows["attention_causal"] = [](const Inputs& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.scale = 0.4F, .is_causal = true});
  };
  rows["attention_masked"] = [](const Inputs& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]});
  };
}

Call resize_to(const Size2d& size, const ResizeOptions& options) {
  return [=](const Inputs& x) { return resize(x[0], size, options); };
}

void add_images(Rows& rows) {
  const std::map<std::string, Interpolation> methods{{"nearest", Interpolation::nearest},
                                                     {"bilinear", Interpolation::bilinear},
                                                     {"bicubic", Interpolation::bicubic},
                                                     {"lanczos3", Interpolation::lanczos3},
                                                     {"lanczos5", Interpolation::lanczos5}};
  for (const auto& [name, method] : methods) {
    rows["resize_" + name] = resize_to({11, 4}, {.interpolation = method});
    if (method == Interpolation::nearest) continue;
    rows["resize_antialiased_" + name] = resize_to({3, 4}, {.interpolation = method, .antialias = true});
  }
  const std::map<std::string, FillMode> fills{{"nearest", FillMode::nearest},
                                              {"constant", FillMode::constant},
                                              {"reflect", FillMode::reflect},
                                              {"wrap", FillMode::wrap}};
  for (const auto& [name, fill] : fills) {
    const AffineTransformOptions options{.fill_mode = fill, .fill_value = 0.25};
    rows["affine_transform_" + name] = [=](const Inputs& x) { return affine_transform(x[0], x[1], options); };
  }
}

Rows all_rows() {
  Rows rows;
  for (const auto add : {add_elementwise, add_comparisons, add_activations, add_creation, add_shapes, add_reductions,
                         add_indexing, add_products, add_images})
    add(rows);
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& [name, call] : all_rows()) try {
      Inputs inputs;
      for (const auto& [number, values] : read_npz(fmt::format("{}/{}.npz", argv[1], name))) inputs.push_back(values);
      print(name, call(inputs));
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());
      return 1;
    }
}
