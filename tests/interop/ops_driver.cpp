#include <array>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <kernels/cases/unary_ops.h>

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
#include <lockstep/kernels/image/depth_to_space.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/linear_algebra/svd.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/kernels/sorting/sparsemax.h>
#include <lockstep/models/data/numpy_file.h>
#include <lockstep/runtime/autograd/tape.h>

#include "layer_op_rows.h"
#include "print_tensor.h"

// usage: ops_driver FOLDER | --unary
// Calls each op of the table with the arrays "0", "1", ... of FOLDER/NAME.npz and prints the result: the row's name,
// then dtype, shape and values. If the file has the array "weights", also prints the gradients of sum(weights * result)
// with respect to the f32 arrays, each after the row's name and the array's. ops_interop.py has the same rows.
// With --unary, prints the names of the element-wise ops of one tensor, each with the bounds of its elements in tests.

namespace {

using namespace lockstep;
using test::Call;
using test::Inputs;
using test::of_two;
using test::print;
using test::Rows;

template <Tensor (*op)(const Tensor&)>
Tensor of_one(const Inputs& x) {
  return op(x[0]);
}

template <Tensor (*op)(const Tensor&, double)>
Tensor with_number(const Inputs& x) {
  return op(x[0], 1.5);
}

template <Tensor (*op)(double, const Tensor&)>
Tensor of_number(const Inputs& x) {
  return op(1.5, x[0]);
}

template <Tensor (*op)(const Tensor&, const std::vector<int>&, bool)>
Tensor of_axes(const Inputs& x) {
  return op(x[0], {0, -1}, true);
}

void add_elementwise(Rows& rows) {
  for (const test::UnaryOp& each : test::unary_ops())
    rows[each.name] = [op = each.op](const Inputs& x) { return op(x[0]); };
  rows["add"] = of_two<add>;
  rows["subtract"] = of_two<subtract>;
  rows["multiply"] = of_two<multiply>;
  rows["divide"] = of_two<divide>;
  rows["maximum"] = of_two<maximum>;
  rows["minimum"] = of_two<minimum>;
  rows["floor_divide"] = of_two<floor_divide>;
  rows["mod"] = of_two<mod>;
  rows["power"] = of_two<power>;
  rows["squared_difference"] = of_two<squared_difference>;
  rows["add_n"] = [](const Inputs& x) { return add_n(x); };
  rows["arctan2"] = of_two<arctan2>;
  rows["logaddexp"] = of_two<logaddexp>;
  rows["round"] = [](const Inputs& x) { return round(x[0]); };
  rows["round_decimals"] = [](const Inputs& x) { return round(x[0], 2); };
  rows["round_tens"] = [](const Inputs& x) { return round(x[0], -1); };
  rows["clip"] = [](const Inputs& x) { return clip(x[0], -0.5, 1.25); };
  rows["cast"] = [](const Inputs& x) { return cast(x[0], DType::i32); };
}

void add_with_numbers(Rows& rows) {
  rows["add_number"] = with_number < operator+>;
  rows["number_add"] = of_number < operator+>;
  rows["subtract_number"] = with_number<subtract>;
  rows["number_subtract"] = of_number<subtract>;
  rows["multiply_number"] = with_number < operator*>;
  rows["number_multiply"] = of_number < operator*>;
  rows["divide_number"] = with_number<divide>;
  rows["number_divide"] = of_number<divide>;
  rows["power_number"] = with_number<power>;
  rows["number_power"] = of_number<power>;
  rows["maximum_number"] = with_number<maximum>;
  rows["number_maximum"] = of_number<maximum>;
  rows["minimum_number"] = with_number<minimum>;
  rows["number_minimum"] = of_number<minimum>;
  rows["equal_number"] = with_number<equal>;
  rows["number_equal"] = of_number<equal>;
  rows["not_equal_number"] = with_number<not_equal>;
  rows["number_not_equal"] = of_number<not_equal>;
  rows["less_number"] = with_number<less>;
  rows["number_less"] = of_number<less>;
  rows["less_equal_number"] = with_number<less_equal>;
  rows["number_less_equal"] = of_number<less_equal>;
  rows["greater_number"] = with_number<greater>;
  rows["number_greater"] = of_number<greater>;
  rows["greater_equal_number"] = with_number<greater_equal>;
  rows["number_greater_equal"] = of_number<greater_equal>;
  rows["where_number"] = [](const Inputs& x) { return where(x[0], x[1], 1.5); };
  rows["number_where"] = [](const Inputs& x) { return where(x[0], 1.5, x[1]); };
}

void add_of_integers(Rows& rows) {
  rows["add_integers"] = of_two<add>;
  rows["subtract_integers"] = of_two<subtract>;
  rows["multiply_integers"] = of_two<multiply>;
  rows["maximum_integers"] = of_two<maximum>;
  rows["minimum_integers"] = of_two<minimum>;
  rows["negative_integers"] = of_one<negative>;
  rows["abs_integers"] = of_one<abs>;
  rows["sign_integers"] = of_one<sign>;
  rows["square_integers"] = of_one<square>;
  rows["clip_integers"] = [](const Inputs& x) { return clip(x[0], -2, 3); };
  rows["sum_integers"] = of_axes<sum>;
  rows["prod_integers"] = of_axes<prod>;
  rows["max_integers"] = of_axes<max>;
  rows["min_integers"] = of_axes<min>;
  rows["any_integers"] = of_axes<any>;
  rows["all_integers"] = of_axes<all>;
  rows["sum_booleans"] = of_axes<sum>;
  rows["cumsum_integers"] = [](const Inputs& x) { return cumsum(x[0], 1); };
  rows["cumprod_integers"] = [](const Inputs& x) { return cumprod(x[0], 1); };
  rows["sort_integers"] = [](const Inputs& x) { return sort(x[0], 1); };
  rows["argmax_integers"] = [](const Inputs& x) { return argmax(x[0], 1); };
}

void add_of_u8_and_booleans(Rows& rows) {
  for (const char* kind : {"u8", "bool"}) {
    const auto row = [&](const char* op) -> auto& { return rows[fmt::format("{}_{}", op, kind)]; };
    row("add") = of_two<add>;
    row("multiply") = of_two<multiply>;
    row("maximum") = of_two<maximum>;
    row("minimum") = of_two<minimum>;
    row("power") = of_two<power>;
    row("abs") = of_one<abs>;
    row("square") = of_one<square>;
    row("max") = of_axes<max>;
    row("min") = of_axes<min>;
    row("cumsum") = [](const Inputs& x) { return cumsum(x[0], 1); };
    row("cumprod") = [](const Inputs& x) { return cumprod(x[0], 1); };
    row("diff") = [](const Inputs& x) { return diff(x[0], 1, 1); };
  }
  rows["subtract_u8"] = of_two<subtract>;
  rows["floor_divide_u8"] = of_two<floor_divide>;
  rows["mod_u8"] = of_two<mod>;
  rows["negative_u8"] = of_one<negative>;
  rows["sign_u8"] = of_one<sign>;
  rows["clip_u8"] = [](const Inputs& x) { return clip(x[0], 3, 150); };
  rows["clip_bool"] = [](const Inputs& x) { return clip(x[0], -1, 1); };
  rows["prod_bool"] = of_one<prod>;
  rows["trace_bool"] = [](const Inputs& x) { return trace(x[0]); };
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
  rows["where_rows"] = [](const Inputs& x) { return where(x[0])[0]; };
  rows["where_columns"] = [](const Inputs& x) { return where(x[0])[1]; };
  rows["isnan"] = of_one<isnan>;
  rows["isinf"] = of_one<isinf>;
  rows["isfinite"] = of_one<isfinite>;
}

void add_activations(Rows& rows) {
  rows["relu"] = of_one<relu>;
  rows["relu_with_options"] = [](const Inputs& x) { return relu(x[0], 0.25, 3, 1); };
  rows["relu6"] = of_one<relu6>;
  rows["leaky_relu"] = [](const Inputs& x) { return leaky_relu(x[0], 0.3); };
  rows["elu"] = [](const Inputs& x) { return elu(x[0], 1.5); };
  rows["celu"] = [](const Inputs& x) { return celu(x[0], 1.5); };
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
  rows["squareplus"] = [](const Inputs& x) { return squareplus(x[0], 0.5); };
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
  rows["concatenate"] = [](const Inputs& x) { return concatenate(x, 1); };
  rows["split"] = [](const Inputs& x) { return split(x[0], 2, -1)[1]; };
  rows["transpose"] = [](const Inputs& x) { return transpose(x[0], {2, 0, 1}); };
  rows["expand_dims"] = [](const Inputs& x) { return expand_dims(x[0], -2); };
  rows["squeeze"] = [](const Inputs& x) { return squeeze(x[0], {1}); };
  rows["stack"] = [](const Inputs& x) { return stack(x, -1); };
  rows["unstack"] = [](const Inputs& x) { return unstack(x[0], 1)[2]; };
  rows["broadcast_to"] = [](const Inputs& x) { return broadcast_to(x[0], {5, 2, 3, 4}); };
  rows["tile"] = [](const Inputs& x) { return tile(x[0], {2, 1, 3}); };
  rows["repeat"] = [](const Inputs& x) { return repeat(x[0], 3, 1); };
  rows["repeat_each"] = [](const Inputs& x) { return repeat(x[0], {2, 0, 3}, 1); };
  rows["repeat_of_all"] = [](const Inputs& x) { return repeat(x[0], 3); };
  rows["flip"] = [](const Inputs& x) { return flip(x[0], {0, -1}); };
  rows["roll"] = [](const Inputs& x) { return roll(x[0], -5, 2); };
  rows["moveaxis"] = [](const Inputs& x) { return moveaxis(x[0], 0, -1); };
  rows["swapaxes"] = [](const Inputs& x) { return swapaxes(x[0], 1, -1); };
  const std::vector<PadWidth> width{{0, 1}, {2, 1}, {1, 3}};
  rows["pad_constant"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::constant, 0.5); };
  rows["pad_reflect"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::reflect); };
  rows["pad_symmetric"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::symmetric); };
  rows["pad_edge"] = [=](const Inputs& x) { return pad(x[0], width, PadMode::edge); };
  rows["zero_pad2d"] = [](const Inputs& x) { return zero_pad2d(x[0], {1, 0, 2, 3}); };
  rows["slice"] = [](const Inputs& x) { return slice(x[0], 1, 1, 3); };
  rows["flatten"] = of_one<flatten>;
  rows["stop_gradient"] = of_one<stop_gradient>;
  rows["dense_copy"] = of_one<dense_copy>;
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
  rows["sum_of_all"] = of_one<sum>;
  rows["mean_of_all"] = of_one<mean>;
  rows["max_of_all"] = of_one<max>;
  rows["min_of_all"] = of_one<min>;
  rows["prod_of_all"] = of_one<prod>;
  rows["var_of_all"] = of_one<var>;
  rows["std_of_all"] = of_one<lockstep::std>;
  rows["norm_of_all"] = of_one<norm>;
  rows["logsumexp_of_all"] = of_one<logsumexp>;
  for (const double order : {1.0, 3.0, std::numeric_limits<double>::infinity()})
    rows[fmt::format("norm_of_order_{}", order)] = [=](const Inputs& x) { return norm(x[0], {-1}, false, order); };
  rows["norm_of_matrices"] = [](const Inputs& x) { return norm(x[0], {0, 2}, false, -1); };
  for (const int order : {2, -2})
    rows[fmt::format("norm_of_matrices_{}", order)] = [=](const Inputs& x) { return norm(x[0], {0, 2}, true, order); };
  rows["norm_of_matrices_nuc"] = [](const Inputs& x) { return norm(x[0], {0, 2}, true, "nuc"); };
  rows["svd"] = [](const Inputs& x) { return svd(x[0]).s; };
  rows["svd_product"] = [](const Inputs& x) {
    const Svd f = svd(x[0]);
    return matmul(f.u, f.vh);
  };
  rows["argmax"] = [](const Inputs& x) { return argmax(x[0], 1); };
  rows["argmax_of_all"] = [](const Inputs& x) { return argmax(x[0]); };
  rows["count_nonzero"] = [](const Inputs& x) { return count_nonzero(x[0], {0, -1}); };
  rows["average"] = [](const Inputs& x) { return average(x[0], {}, x[1]); };
  rows["average_of_axis"] = [](const Inputs& x) { return average(x[0], 1, x[1]); };
  rows["diff"] = [](const Inputs& x) { return diff(x[0], 2, 1); };
  rows["median"] = [](const Inputs& x) { return median(x[0]); };
  rows["quantile"] = [](const Inputs& x) { return quantile(x[0], 0.3, {0, -1}, true); };
  rows["isclose"] = [](const Inputs& x) { return isclose(x[0], x[1], 0.1, 0.5, true); };
  rows["allclose"] = [](const Inputs& x) { return allclose(x[0], x[1], 0, 5); };
  rows["diagonal"] = [](const Inputs& x) { return diagonal(x[0], -1, 0, 2); };
  rows["trace"] = [](const Inputs& x) { return trace(x[0], 1); };
  rows["diag"] = [](const Inputs& x) { return diag(x[0], -2); };
  rows["meshgrid"] = [](const Inputs& x) { return meshgrid(x)[0]; };
  rows["slice_update"] = [](const Inputs& x) { return slice_update(x[0], {0, 1, 2}, x[1]); };
  rows["depth_to_space"] = [](const Inputs& x) { return depth_to_space(x[0], 2); };
  rows["space_to_depth"] = [](const Inputs& x) { return space_to_depth(x[0], 2); };
  rows["argmin"] = [](const Inputs& x) { return argmin(x[0], -1, true); };
  rows["argmin_of_all"] = [](const Inputs& x) { return argmin(x[0], {}, true); };
  rows["cumsum"] = [](const Inputs& x) { return cumsum(x[0], 1); };
  rows["cumsum_exclusive"] = [](const Inputs& x) { return cumsum(x[0], 1, {.exclusive = true}); };
  rows["cumsum_reverse"] = [](const Inputs& x) { return cumsum(x[0], 1, {.reverse = true}); };
  rows["cumprod"] = [](const Inputs& x) { return cumprod(x[0], -1); };
  rows["cumsum_of_all"] = [](const Inputs& x) { return cumsum(x[0]); };
  rows["cumprod_of_all"] = [](const Inputs& x) { return cumprod(x[0]); };
  rows["sort"] = [](const Inputs& x) { return sort(x[0], 1); };
  rows["sort_descending"] = [](const Inputs& x) { return sort(x[0], 1, SortDirection::descending); };
  rows["argsort"] = [](const Inputs& x) { return argsort(x[0]); };
  rows["argsort_descending"] = [](const Inputs& x) { return argsort(x[0], -1, SortDirection::descending); };
  rows["top_k_values"] = [](const Inputs& x) { return top_k(x[0], 3).values; };
  rows["top_k_indices"] = [](const Inputs& x) { return top_k(x[0], 3).indices; };
}

void add_indexing(Rows& rows) {
  rows["take"] = [](const Inputs& x) { return take(x[0], x[1], 1); };
  rows["take_of_all"] = [](const Inputs& x) { return take(x[0], x[1]); };
  rows["take_along_axis"] = [](const Inputs& x) { return take_along_axis(x[0], x[1], 1); };
  rows["embedding_lookup"] = of_two<embedding_lookup>;
  rows["scatter"] = [](const Inputs& x) { return scatter(x[0], x[1], {4, 3}); };
  rows["scatter_update"] = [](const Inputs& x) { return scatter_update(x[0], x[1], x[2]); };
  rows["segment_sum"] = [](const Inputs& x) { return segment_sum(x[0], x[1], 4); };
}

void add_products(Rows& rows) {
  rows["matmul"] = of_two<matmul>;
  rows["dense"] = [](const Inputs& x) { return dense(x[0], x[1], x[2], Activation::tanh); };
  rows["dot"] = of_two<dot>;
  rows["outer"] = of_two<outer>;
  rows["tensordot"] = [](const Inputs& x) { return tensordot(x[0], x[1], {2, 0}, {0, 1}); };
  rows["einsum_of_three"] = [](const Inputs& x) { return einsum("aab,bc,ca->ac", x); };
  rows["einsum"] = [](const Inputs& x) { return einsum("b...i,bij->...bj", x[0], x[1]); };
  for (const char* kind : {"integers", "u8", "bool"}) {
    for (const char* op : {"matmul", "dot", "outer", "tensordot"}) rows[fmt::format("{}_{}", op, kind)] = rows[op];
    rows[fmt::format("einsum_{}", kind)] = [](const Inputs& x) { return einsum("abc,bde->ad", x[0], x[1]); };
  }
  rows["attention"] = [](const Inputs& x) { return dot_product_attention(x[0], x[1], x[2]); };
  rows["attention_causal"] = [](const Inputs& x) {
    return dot_product_attention(x[0], x[1], x[2], {.scale = 0.4F, .is_causal = true});
  };
  rows["attention_masked"] = [](const Inputs& x) { return dot_product_attention(x[0], x[1], x[2], {.mask = x[3]}); };
  rows["attention_biased"] = [](const Inputs& x) {
    return dot_product_attention(x[0], x[1], x[2], {.is_causal = true, .bias = x[4], .mask = x[3]});
  };
  rows["attention_grouped"] = rows["attention"];
}

Rows all_rows() {
  Rows rows;
  for (const auto add :
       {add_elementwise, add_with_numbers, add_of_integers, add_of_u8_and_booleans, add_comparisons, add_activations,
        add_creation, add_shapes, add_reductions, add_indexing, add_products, test::add_windows,
        test::add_normalizations, test::add_losses, test::add_recurrences, test::add_images})
    add(rows);
  return rows;
}

/// Prints the row's result and, if `weights` is defined, the gradients of sum(weights * result).
void print_row(const std::string& name, const Call& call, const Inputs& inputs, const Tensor& weights) {
  if (!weights.defined()) return print(name, call(inputs));
  std::vector<Tensor> sources;
  std::vector<std::string> labels;
  GradientTape tape;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::f32) continue;
    tape.watch(sources.emplace_back(inputs[i]));
    labels.push_back(fmt::format("{} {}", name, i));
  }
  const Tensor result = call(inputs);
  print(name, result);
  tape.watch(result);  // so that the tape accepts a result that does not depend on the inputs
  const std::vector<Tensor> gradients = tape.gradient(result, sources, weights);
  for (std::size_t i = 0; i < sources.size(); ++i)
    print(labels[i], gradients[i].defined() ? gradients[i] : zeros_like(sources[i]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (argv[1] == std::string_view("--unary")) {
    for (const test::UnaryOp& each : test::unary_ops()) fmt::print("{} {} {}\n", each.name, each.low, each.high);
    return 0;
  }
  for (const auto& [name, call] : all_rows()) try {
      Inputs inputs;
      Tensor weights;
      for (const auto& [array, values] : read_npz(fmt::format("{}/{}.npz", argv[1], name)))
        if (array == "weights")
          weights = values;
        else
          inputs.push_back(values);
      print_row(name, call, inputs, weights);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());
      return 1;
    }
}
