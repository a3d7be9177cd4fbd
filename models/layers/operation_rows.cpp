#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/image/depth_to_space.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/quantile.h>
#include <lockstep/models/layers/operation_call.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Call = OperationCall;
using Results = std::vector<Tensor>;

/// x in floating-point numbers, to which Keras converts integers and bool for functions of real numbers.
Tensor real(const Tensor& x) { return is_real(x.dtype()) ? x : cast(x, DType::f32); }
Tensor truth(const Tensor& x) { return cast(x, DType::boolean); }

template <Tensor (*op)(const Tensor&)>
Results each(const Call& call) {
  return {op(real(call.x[0]))};
}

/// Of any dtype.
template <Tensor (*op)(const Tensor&)>
Results each_of_any_dtype(const Call& call) {
  return {op(call.x[0])};
}

Tensor as_it_is(const Tensor& x) { return x; }

/// Of two operands of one dtype; `prepared` converts them.
template <Tensor (*op)(const Tensor&, const Tensor&), Tensor (*prepared)(const Tensor&) = as_it_is>
Results of_two(const Call& call) {
  const Results given = call.promoted({0, 1});
  return {op(prepared(given[0]), prepared(given[1]))};
}

template <Tensor (*op)(const Tensor&, const Tensor&)>
Results logic(const Call& call) {
  return {op(truth(call.operand(0)), truth(call.operand(1)))};
}

/// A reduction over axes of x, which `prepared` converts.
template <Tensor (*op)(const Tensor&, const std::vector<int>&, bool), Tensor (*prepared)(const Tensor&) = real>
Results over_axes_of(const Call& call) {
  return {op(prepared(call.x[0]), call.axes("axis"), call.flag("keepdims"))};
}

template <Tensor (*op)(const Tensor&, std::optional<int>, bool)>
Results along_axis(const Call& call) {
  return {op(call.x[0], call.axis("axis", 0), call.flag("keepdims"))};
}

template <Tensor (*op)(const Tensor&, const std::vector<int>&)>
Results along_axes(const Call& call) {
  const Json& axis = call.value("axis");
  return {op(call.x[0], axis.is_array() ? call.axes("axis") : std::vector{call.axis("axis", -1)})};
}

constexpr std::string_view of_average[] = {"weights"};
Results averaged(const Call& call) {
  const int axis = call.axis("axis", 0);
  if (call.argument(1).is_null()) return {mean(real(call.x[0]), {axis})};
  const Results given = call.promoted({0, 1});
  if (!call.is_input(0) || (call.is_input(1) && given[1].rank() != given[0].rank()))
    call.refuse("takes constant weights along its axis, or weights of its input's shape");
  return {average(real(given[0]), axis, real(given[1]))};
}

Results quantile_of(const Call& call) {
  const Json& method = call.value("method");
  if (!method.is_null() && method != "linear") call.refuse("has the method linear");
  if (!call.argument(1).is_number()) call.refuse("takes a number as its q; use several operations for several numbers");
  return {quantile(real(call.x[0]), call.argument(1).get<double>(), call.axes("axis"), call.flag("keepdims"))};
}

Results trace_of(const Call& call) {
  return {trace(call.x[0], call.value("offset").is_null() ? 0 : call.integer("offset"), call.axis("axis1", 0),
                call.axis("axis2", 1))};
}

Results chosen(const Call& call) {
  const Results values = call.promoted({1, 2});
  return {where(truth(call.operand(0)), values[0], values[1])};
}

/// The order is a number, a name, or null for the Euclidean norm of vectors or matrices.
Results norm_of(const Call& call) {
  const std::vector<int> axes = call.axes("axis");
  const Json& order = call.value("ord");
  const bool keepdims = call.flag("keepdims");
  if (axes.size() > 2) call.refuse("is a norm over one axis or two; reshape its input before it");
  if (order.is_null()) return {norm(real(call.x[0]), axes, keepdims)};
  if (order.is_string()) return {norm(real(call.x[0]), axes, keepdims, order.get<std::string>())};
  if (!order.is_number()) call.refuse(fmt::format("takes a number or a name as its ord, got {}", order.dump()));
  return {norm(real(call.x[0]), axes, keepdims, order.get<double>())};
}

constexpr std::string_view of_attention[] = {"bias", "mask", "scale"};
Results attended(const Call& call) {
  call.value("flash_attention");
  AttentionOptions options{.is_causal = call.flag("is_causal")};
  if (!call.argument(4).is_null()) options.mask = truth(call.operand(4));
  if (!call.argument(5).is_null()) options.scale = call.argument(5).get<float>();
  const Results given = call.promoted({0, 1, 2});
  if (!call.argument(3).is_null()) options.bias = real(call.operand(3));
  return {dot_product_attention(real(given[0]), real(given[1]), real(given[2]), options)};
}

Results tensordot_of(const Call& call) {
  const Results given = call.promoted({0, 1});
  const Json& axes = call.value("axes");
  const auto list = [&](std::size_t operand) { return call.whole_list<int>("axes", axes.at(operand)); };
  if (axes.is_array()) return {tensordot(given[0], given[1], list(0), list(1))};
  return {tensordot(given[0], given[1], axes.is_null() ? 2 : call.whole<int>("axes", axes))};
}

Results clipped(const Call& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {clip(call.x[0], call.number("x_min", -infinity), call.number("x_max", infinity))};
}
Results rounded(const Call& call) {
  const Json& decimals = call.value("decimals");
  return {round(call.x[0], decimals.is_null() ? 0 : call.whole<int>("decimals", decimals))};
}
Results truncated(const Call& call) {
  return {is_real(call.x[0].dtype()) ? trunc(call.x[0]) : call.x[0]};  // integers keep their dtype
}
Results leaky(const Call& call) { return {leaky_relu(call.x[0], call.number("negative_slope", 0.2))}; }
Results elu_of(const Call& call) { return {elu(call.x[0], call.number("alpha", 1))}; }
Results celu_of(const Call& call) { return {celu(call.x[0], call.number("alpha", 1))}; }
Results gelu_of(const Call& call) { return {gelu(call.x[0], call.value("approximate") != false)}; }
Results hard_shrunk(const Call& call) { return {hard_shrink(call.x[0], call.number("threshold", 0.5))}; }
Results soft_shrunk(const Call& call) { return {soft_shrink(call.x[0], call.number("threshold", 0.5))}; }
Results thresholded(const Call& call) {
  return {threshold(call.x[0], call.number("threshold", 0), call.number("default_value", 0))};
}
Results gated(const Call& call) { return {glu(call.x[0], call.axis("axis", -1))}; }
Results squareplus_of(const Call& call) { return {squareplus(call.x[0], call.number("b", 4))}; }
Results cumulative_sum(const Call& call) { return {cumsum(call.x[0], call.axis("axis", 0))}; }
Results cumulative_product(const Call& call) { return {cumprod(call.x[0], call.axis("axis", 0))}; }
Results differences(const Call& call) {
  const std::int64_t n = call.value("n").is_null() ? 1 : call.integer("n");
  return {diff(call.x[0], n, call.axis("axis", -1))};
}
constexpr std::string_view of_closeness[] = {"rtol", "atol"};
Results near(const Call& call) {
  const Results given = call.promoted({0, 1});
  const auto number = [&](std::size_t i, double otherwise) {
    return call.argument(i).is_null() ? otherwise : call.argument(i).get<double>();
  };
  return {isclose(real(given[0]), real(given[1]), number(2, 1e-5), number(3, 1e-8), call.flag("equal_nan"))};
}
template <Tensor (*op)(const Tensor&, std::int64_t)>
Results of_blocks(const Call& call) {
  if (call.value("data_format") == "channels_first") call.refuse("takes images with their channels last");
  return {op(call.x[0], call.integer("block_size"))};
}
Results einsum_of(const Call& call) {
  std::vector<std::size_t> operands(call.arguments());
  std::iota(operands.begin(), operands.end(), 0);
  return {einsum(call.value("subscripts").get<std::string>(), call.promoted(operands))};
}

Tensor softmax_over(const Tensor& x, const std::vector<int>& axes) { return softmax(x, axes); }
Tensor log_softmax_over(const Tensor& x, const std::vector<int>& axes) { return log_softmax(x, axes); }
Tensor std_over(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return lockstep::std(x, axes, keepdims);
}

constexpr OperationRow function_rows[] = {
    {"Absolute", "numpy", each_of_any_dtype<abs>},
    {"Add", "numpy", of_two<add>, 2},
    {"All", "numpy", over_axes_of<all, truth>},
    {"Amax", "numpy", over_axes_of<max, as_it_is>},
    {"Amin", "numpy", over_axes_of<min, as_it_is>},
    {"Any", "numpy", over_axes_of<any, truth>},
    {"Arccos", "numpy", each<arccos>},
    {"Arccosh", "numpy", each<arccosh>},
    {"Arcsin", "numpy", each<arcsin>},
    {"Arcsinh", "numpy", each<arcsinh>},
    {"Arctan", "numpy", each<arctan>},
    {"Arctan2", "numpy", of_two<arctan2, real>, 2},
    {"Arctanh", "numpy", each<arctanh>},
    {"Argmax", "numpy", along_axis<argmax>},
    {"Argmin", "numpy", along_axis<argmin>},
    {"Average", "numpy", averaged, 1, of_average},
    {"Ceil", "numpy", each<ceil>},
    {"Celu", "nn", celu_of},
    {"Clip", "numpy", clipped},
    {"Cos", "numpy", each<cos>},
    {"Cosh", "numpy", each<cosh>},
    {"CountNonzero", "numpy", over_axes_of<count_nonzero, as_it_is>},
    {"Cumprod", "numpy", cumulative_product},
    {"Cumsum", "numpy", cumulative_sum},
    {"DepthToSpace", "nn", of_blocks<depth_to_space>},
    {"Diff", "numpy", differences},
    {"Divide", "numpy", of_two<divide, real>, 2},
    {"Dot", "numpy", of_two<dot>, 2},
    {"DotProductAttention", "nn", attended, 3, of_attention},
    {"Einsum", "numpy", einsum_of, any_number},
    {"Elu", "nn", elu_of},
    {"Equal", "numpy", of_two<equal>, 2},
    {"Erf", "math", each<erf>},
    {"Exp", "numpy", each<exp>},
    {"Expm1", "numpy", each<expm1>},
    {"Floor", "numpy", each<floor>},
    {"FloorDivide", "numpy", of_two<floor_divide>, 2},
    {"Gelu", "nn", gelu_of},
    {"Glu", "nn", gated},
    {"Greater", "numpy", of_two<greater>, 2},
    {"GreaterEqual", "numpy", of_two<greater_equal>, 2},
    {"HardShrink", "nn", hard_shrunk},
    {"HardSigmoid", "nn", each<hard_sigmoid>},
    {"HardSilu", "nn", each<hard_silu>},
    {"HardTanh", "nn", each<hard_tanh>},
    {"Isclose", "numpy", near, 2, of_closeness},
    {"Isfinite", "numpy", each<isfinite>},
    {"Isinf", "numpy", each<isinf>},
    {"Isnan", "numpy", each<isnan>},
    {"LeakyRelu", "nn", leaky},
    {"Less", "numpy", of_two<less>, 2},
    {"LessEqual", "numpy", of_two<less_equal>, 2},
    {"Log", "numpy", each<log>},
    {"Log10", "numpy", each<log10>},
    {"Log1p", "numpy", each<log1p>},
    {"Log2", "numpy", each<log2>},
    {"LogSigmoid", "nn", each<log_sigmoid>},
    {"LogSoftmax", "nn", along_axes<log_softmax_over>},
    {"Logaddexp", "numpy", of_two<logaddexp, real>, 2},
    {"LogicalAnd", "numpy", logic<logical_and>, 2},
    {"LogicalNot", "numpy", each_of_any_dtype<logical_not>},
    {"LogicalOr", "numpy", logic<logical_or>, 2},
    {"LogicalXor", "numpy", logic<logical_xor>, 2},
    {"Logsumexp", "math", over_axes_of<logsumexp>},
    {"Matmul", "numpy", of_two<matmul>, 2},
    {"Max", "numpy", over_axes_of<max, as_it_is>},
    {"Maximum", "numpy", of_two<maximum>, 2},
    {"Mean", "numpy", over_axes_of<mean>},
    {"Median", "numpy", over_axes_of<median>},
    {"Min", "numpy", over_axes_of<min, as_it_is>},
    {"Minimum", "numpy", of_two<minimum>, 2},
    {"Mod", "numpy", of_two<mod>, 2},
    {"Multiply", "numpy", of_two<multiply>, 2},
    {"Negative", "numpy", each_of_any_dtype<negative>},
    {"Norm", "linalg", norm_of},
    {"NotEqual", "numpy", of_two<not_equal>, 2},
    {"Power", "numpy", of_two<power>, 2},
    {"Prod", "numpy", over_axes_of<prod, as_it_is>},
    {"Quantile", "numpy", quantile_of, 2},
    {"Reciprocal", "numpy", each<reciprocal>},
    {"Relu", "nn", each<relu>},
    {"Relu6", "nn", each<relu6>},
    {"Round", "numpy", rounded},
    {"Rsqrt", "math", each<rsqrt>},
    {"Selu", "nn", each<selu>},
    {"Sigmoid", "nn", each<sigmoid>},
    {"Sign", "numpy", each_of_any_dtype<sign>},
    {"Silu", "nn", each<silu>},
    {"Sin", "numpy", each<sin>},
    {"Sinh", "numpy", each<sinh>},
    {"SoftShrink", "nn", soft_shrunk},
    {"Softmax", "nn", along_axes<softmax_over>},
    {"Softplus", "nn", each<softplus>},
    {"Softsign", "nn", each<softsign>},
    {"SpaceToDepth", "nn", of_blocks<space_to_depth>},
    {"SparsePlus", "nn", each<sparse_plus>},
    {"SparseSigmoid", "nn", each<sparse_sigmoid>},
    {"Sqrt", "numpy", each<sqrt>},
    {"Square", "numpy", each_of_any_dtype<square>},
    {"Squareplus", "nn", squareplus_of},
    {"Std", "numpy", over_axes_of<std_over>},
    {"Subtract", "numpy", of_two<subtract>, 2},
    {"Sum", "numpy", over_axes_of<sum, as_it_is>},
    {"Tan", "numpy", each<tan>},
    {"Tanh", "numpy", each<tanh>},
    {"TanhShrink", "nn", each<tanh_shrink>},
    {"Tensordot", "numpy", tensordot_of, 2},
    {"Threshold", "nn", thresholded},
    {"Trace", "numpy", trace_of},
    {"TrueDivide", "numpy", of_two<divide, real>, 2},
    {"Trunc", "numpy", truncated},
    {"Var", "numpy", over_axes_of<var>},
    {"Where", "numpy", chosen, 3},
};

}  // namespace

std::span<const OperationRow> operation_rows() {
  static const std::vector<OperationRow> all = [] {
    std::vector<OperationRow> rows(std::begin(function_rows), std::end(function_rows));
    for (const auto more : {array_operation_rows(), image_operation_rows()})
      rows.insert(rows.end(), more.begin(), more.end());
    std::ranges::sort(rows, {}, [](const OperationRow& row) { return std::string_view(row.name); });
    return rows;
  }();
  return all;
}

}  // namespace lockstep
