#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/models/layers/operation_call.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Call = OperationCall;
using Results = std::vector<Tensor>;

/// x in floating-point numbers, to which Keras converts integers and bool for functions of real numbers.
Tensor real(const Tensor& x) { return is_real(x.dtype()) ? x : cast(x, DType::f32); }
/// x with integers in place of bool and u8.
Tensor counted(const Tensor& x) {
  return x.dtype() == DType::boolean || x.dtype() == DType::u8 ? cast(x, DType::i32) : x;
}
Tensor truth(const Tensor& x) { return cast(x, DType::boolean); }

template <Tensor (*op)(const Tensor&)>
Results each(const Call& call) {
  return {op(real(call.x[0]))};
}

/// Of numbers, also of integers.
template <Tensor (*op)(const Tensor&)>
Results each_number(const Call& call) {
  return {op(counted(call.x[0]))};
}

/// Of two operands of one dtype; `prepared` converts them.
template <Tensor (*op)(const Tensor&, const Tensor&), Tensor (*prepared)(const Tensor&) = counted>
Results of_two(const Call& call) {
  const Results given = call.promoted({0, 1});
  return {op(prepared(given[0]), prepared(given[1]))};
}

Tensor as_it_is(const Tensor& x) { return x; }

/// A comparison of two operands.
template <Tensor (*op)(const Tensor&, const Tensor&)>
constexpr auto compared = of_two<op, as_it_is>;

template <Tensor (*op)(const Tensor&, const Tensor&)>
Results logic(const Call& call) {
  return {op(truth(call.operand(0)), truth(call.operand(1)))};
}

/// A reduction over axes of x, which `prepared` converts.
template <Tensor (*op)(const Tensor&, const std::vector<int>&, bool), Tensor (*prepared)(const Tensor&) = real>
Results over_axes_of(const Call& call) {
  return {op(prepared(call.x[0]), call.axes("axis"), call.flag("keepdims"))};
}

template <Tensor (*op)(const Tensor&, int, bool)>
Results along_axis(const Call& call) {
  return {op(call.x[0], call.axis("axis", 0), call.flag("keepdims"))};
}

template <Tensor (*op)(const Tensor&, std::int64_t)>
Results of_triangle(const Call& call) {
  const Json& diagonal = call.value("k");
  if (call.x[0].rank() < 3) call.refuse("takes matrices, (batch, rows, columns)");
  return {op(call.x[0], diagonal.is_null() ? 0 : diagonal.get<std::int64_t>())};
}

template <Tensor (*op)(const Tensor&, const std::vector<int>&)>
Results along_axes(const Call& call) {
  const Json& axis = call.value("axis");
  return {op(call.x[0], axis.is_array() ? call.axes("axis") : std::vector{call.axis("axis", -1)})};
}

/// The elements begin, begin + step, ... below `end`: a slice of n elements.
struct Places {
  std::int64_t begin, end, step;
};
Places places_of(const Call& call, const Json& key, std::int64_t n) {
  const Json& slice = key.at("config");
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    if (slice.at(name).is_null()) return otherwise;
    const auto at = slice.at(name).get<std::int64_t>();
    return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n);
  };
  const std::int64_t step = slice.at("step").is_null() ? 1 : slice.at("step").get<std::int64_t>();
  if (step < 1) call.refuse("takes slices with a step of at least 1; use Flip for the other direction");
  const std::int64_t begin = bound("start", 0);
  return {begin, std::max(begin, bound("stop", n)), step};
}

bool is_whole_slice(const Json& key) {
  return key.is_object() && key.value("class_name", "") == "__slice__" &&
         std::ranges::all_of(key.at("config"), [](const Json& bound) { return bound.is_null(); });
}

/// x[keys]: numbers, slices, new axes (null) and an ellipsis.
Results get_item(const Call& call) {
  const Json& given = call.argument(1);
  Json keys = given.is_array() ? given : Json::array({given});
  const auto is_ellipsis = [](const Json& key) {
    return key.is_object() && key.value("class_name", "") == "__ellipsis__";
  };
  const auto named = std::ranges::count_if(keys, [&](const Json& key) { return !key.is_null() && !is_ellipsis(key); });
  if (std::ranges::none_of(keys, is_ellipsis)) keys.push_back({{"class_name", "__ellipsis__"}, {"config", Json()}});
  Tensor x = call.x[0];
  if (named > x.rank()) call.refuse("has more keys than its input has axes");
  int axis = 0;
  for (const Json& key : keys) {
    if (axis == 0 && !is_ellipsis(key) && !is_whole_slice(key))
      call.refuse("takes all examples of a batch: its first key must be : or ...");
    if (is_ellipsis(key)) {
      axis += call.x[0].rank() - static_cast<int>(named);
    } else if (key.is_null()) {
      x = expand_dims(x, axis++);
    } else if (key.is_number_integer()) {
      const std::int64_t n = x.dim(axis);
      const auto at = key.get<std::int64_t>() + (key.get<std::int64_t>() < 0 ? n : 0);
      if (at < 0 || at >= n) call.refuse("has an index outside its axis");
      x = squeeze(slice(x, axis, at, at + 1), {axis});
    } else if (key.is_object() && key.value("class_name", "") == "__slice__") {
      const auto [begin, end, step] = places_of(call, key, x.dim(axis));
      if (axis > 0)
        x = step == 1 ? slice(x, axis, begin, end)
                      : take(x,
                             arange(static_cast<double>(begin), static_cast<double>(end), static_cast<double>(step),
                                    DType::i64),
                             axis);
      ++axis;
    } else {
      call.refuse("takes numbers, slices, new axes and an ellipsis as keys, got " + key.dump());
    }
  }
  return {x};
}

/// The new shape is an option. Its first size, for the batch, must be -1 or null, and the others at least 1.
Results reshaped(const Call& call) {
  const Tensor& x = call.x[0];
  const Json& sizes = call.value("newshape");
  if (!sizes.is_array() || sizes.empty() || !(sizes[0].is_null() || sizes[0] == -1))
    call.refuse("needs a newshape that keeps the batch axis: its first size must be -1");
  std::int64_t elements = 1;
  for (int axis = 1; axis < x.rank(); ++axis) elements *= x.dim(axis);
  Shape shape{x.dim(0)};
  std::int64_t product = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    shape.push_back(sizes[i].is_null() ? -1 : sizes[i].get<std::int64_t>());
    if (shape.dim(-1) < 1) call.refuse("needs a newshape with sizes of at least 1 after the first one");
    if (__builtin_mul_overflow(product, shape.dim(-1), &product)) call.refuse("has a newshape of too many elements");
  }
  if (product != elements) call.refuse("needs a newshape that keeps the batch axis and the number of elements");
  return {reshape(x, shape)};
}

Results transposed(const Call& call) {
  const Json& axes = call.value("axes");
  if (!axes.is_array() || axes.empty() || axes[0] != 0) call.refuse("needs axes that begin with the batch axis, 0");
  return {transpose(call.x[0], axes.get<std::vector<int>>())};
}

Results split_up(const Call& call) {
  const Tensor& x = call.x[0];
  const int axis = call.axis("axis", 0);
  const Json& where = call.value("indices_or_sections");
  if (where.is_number_integer()) return split(x, where.get<std::int64_t>(), axis);
  return split(x, where.get<std::vector<std::int64_t>>(), axis);
}

Results squeezed(const Call& call) {
  const Json& axis = call.value("axis");
  if (axis.is_null()) call.refuse("needs the axis to leave out");
  return {squeeze(call.x[0], axis.is_array() ? call.axes("axis") : std::vector{call.axis("axis", -1)})};
}

Results concatenated(const Call& call) { return {concatenate(call.x, call.axis("axis", 0))}; }
Results stacked(const Call& call) { return {stack(call.x, call.new_axis("axis", 0, call.x[0].rank() + 1))}; }
Results unstacked(const Call& call) {
  call.value("num");
  return unstack(call.x[0], call.axis("axis", 0));
}
Results expanded(const Call& call) { return {expand_dims(call.x[0], call.new_axis("axis", 0, call.x[0].rank() + 1))}; }
Results swapped(const Call& call) { return {swapaxes(call.x[0], call.axis("axis1", 0), call.axis("axis2", 0))}; }
Results moved(const Call& call) { return {moveaxis(call.x[0], call.axis("source", 0), call.axis("destination", 0))}; }
Results flipped_over(const Call& call) {
  const Json& axis = call.value("axis");
  return {flip(call.x[0], axis.is_number() ? std::vector{call.axis("axis", 0)} : call.axes("axis"))};
}
Results rolled(const Call& call) { return {roll(call.x[0], call.integer("shift"), call.axis("axis", 0))}; }
Results repeated_along(const Call& call) { return {repeat(call.x[0], call.integer("repeats"), call.axis("axis", 0))}; }
Results cast_to(const Call& call) { return {cast(call.x[0], call.dtype("dtype", DType::f32))}; }
template <int value>
Results full_of(const Call& call) {
  // Filled by a kernel, because a copy from the host could not be captured.
  const Tensor result = Tensor::empty(call.x[0].shape(), call.dtype("dtype", call.x[0].dtype()));
  launch(kernels::Fill{result, value});
  return {result};
}
Results filled(const Call& call) {
  const Tensor value = cast(call.operand(1), call.dtype("dtype", call.x[0].dtype()));
  return {broadcast_to(value, call.operand(0).shape())};
}

Results chosen(const Call& call) {
  const Results values = call.promoted({1, 2});
  return {where(truth(call.operand(0)), values[0], values[1])};
}

/// Rows of a batch at constant indices, or rows of a constant at a batch of indices.
Results taken(const Call& call) {
  const Tensor x = call.operand(0);
  const Tensor indices = cast(call.operand(1), DType::i64);
  if (call.is_input(0)) return {take(x, indices, call.axis("axis", 0))};
  const Json& axis = call.value("axis");
  return {take(x, indices, axis.is_null() ? std::nullopt : std::optional(axis.get<int>()))};
}

Results taken_along(const Call& call) {
  return {take_along_axis(call.operand(0), cast(call.operand(1), DType::i64), call.axis("axis", 0))};
}

Results one_hot_of(const Call& call) {
  if (call.flag("sparse")) call.refuse("makes dense tensors only; leave sparse out");
  return {one_hot(cast(call.x[0], DType::i64), call.integer("num_classes"),
                  call.new_axis("axis", -1, call.x[0].rank() + 1), call.dtype("dtype", DType::f32))};
}

Results padded(const Call& call) {
  const std::vector<std::pair<const char*, PadMode>> modes{{"constant", PadMode::constant},
                                                           {"reflect", PadMode::reflect},
                                                           {"symmetric", PadMode::symmetric},
                                                           {"edge", PadMode::edge}};
  const Json& given = call.value("mode");
  const auto mode = std::ranges::find_if(modes, [&](const auto& known) { return given == known.first; });
  if (!given.is_null() && mode == modes.end()) call.refuse("has the modes constant, reflect, symmetric and edge");
  const Json& pairs = call.value("pad_width");
  if (!pairs.is_array() || pairs.empty() || !pairs[0].is_array())
    call.refuse("needs a pad_width with a pair for each axis, such as [[0, 0], [1, 1]]");
  std::vector<PadWidth> widths;
  for (const Json& pair : pairs) widths.push_back({pair.at(0), pair.at(1)});
  if (widths.size() == 1) widths.resize(static_cast<std::size_t>(call.x[0].rank()), widths[0]);
  if (widths.empty() || widths[0].before != 0 || widths[0].after != 0)
    call.refuse("cannot add examples to a batch: the first pair of its pad_width must be [0, 0]");
  const Json& value = call.argument(1);
  return {pad(call.operand(0), widths, given.is_null() ? PadMode::constant : mode->second,
              value.is_null() ? 0 : value.get<double>())};
}

Results tiled(const Call& call) {
  const Json& given = call.value("repeats");
  const auto repeats =
      given.is_array() ? given.get<std::vector<std::int64_t>>() : std::vector{given.get<std::int64_t>()};
  const auto rank = static_cast<std::size_t>(call.x[0].rank());
  if (repeats.size() > rank || (repeats.size() == rank && repeats[0] != 1))
    call.refuse("cannot repeat a batch: its repeats must be 1 for the first axis");
  return {tile(call.x[0], repeats)};
}

Results broadcast(const Call& call) {
  const Tensor& x = call.x[0];
  Shape shape{x.dim(0)};
  const Json& sizes = call.value("shape");
  if (!sizes.is_array() || sizes.size() != static_cast<std::size_t>(x.rank()))
    call.refuse("needs a shape of as many axes as its input has; use ExpandDims before it");
  if (x.dim(0) != 0 && sizes[0].is_number() && sizes[0] != -1 && sizes[0] != x.dim(0))
    call.refuse(fmt::format("is for batches of {} examples, got {}", sizes[0].dump(), x.dim(0)));
  for (std::size_t axis = 1; axis < sizes.size(); ++axis) shape.push_back(sizes[axis].get<std::int64_t>());
  return {broadcast_to(x, shape)};
}

Results norm_of(const Call& call) {
  const std::vector<int> axes = call.axes("axis");
  const Json& order = call.value("ord");
  const bool is_euclidean = order.is_null() || (axes.size() == 2 && order == "fro") || (axes.size() == 1 && order == 2);
  if (!is_euclidean || axes.size() > 2)
    call.refuse("is the Euclidean norm over one axis or two; compose others of Absolute, Power, Max and Sum");
  return {norm(real(call.x[0]), axes, call.flag("keepdims"))};
}

Results largest(const Call& call) {
  call.value("sorted");
  if (call.x[0].rank() < 2) call.refuse("works along the last axis, which is the batch axis of its input");
  const TopK found = top_k(call.x[0], call.integer("k"));
  return {found.values, found.indices};
}
Results sorted(const Call& call) { return {sort(call.x[0], call.axis("axis", -1))}; }
Results sorting(const Call& call) { return {argsort(call.x[0], call.axis("axis", -1))}; }

constexpr std::string_view of_attention[] = {"bias", "mask", "scale"};
Results attended(const Call& call) {
  call.value("flash_attention");
  if (!call.argument(3).is_null()) call.refuse("takes no bias; compose it of Einsum, Add and Softmax");
  AttentionOptions options{.is_causal = call.flag("is_causal")};
  if (!call.argument(4).is_null()) options.mask = truth(call.operand(4));
  if (!call.argument(5).is_null()) options.scale = call.argument(5).get<float>();
  const Results given = call.promoted({0, 1, 2});
  return {dot_product_attention(real(given[0]), real(given[1]), real(given[2]), options)};
}

Results tensordot_of(const Call& call) {
  const Results given = call.promoted({0, 1});
  const Json& axes = call.value("axes");
  const auto list = [](const Json& one) {
    return one.is_array() ? one.get<std::vector<int>>() : std::vector{one.get<int>()};
  };
  if (axes.is_array()) return {tensordot(real(given[0]), real(given[1]), list(axes.at(0)), list(axes.at(1)))};
  return {tensordot(real(given[0]), real(given[1]), axes.is_null() ? 2 : axes.get<int>())};
}

constexpr std::string_view of_pad[] = {"constant_values"};
Results clipped(const Call& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {clip(counted(call.x[0]), call.number("x_min", -infinity), call.number("x_max", infinity))};
}
Results rounded(const Call& call) {
  if (call.number("decimals", 0) != 0) call.refuse("rounds to whole numbers; multiply before and divide after it");
  return {round(call.x[0])};
}
Results leaky(const Call& call) { return {leaky_relu(call.x[0], call.number("negative_slope", 0.2))}; }
Results elu_of(const Call& call) { return {elu(call.x[0], call.number("alpha", 1))}; }
Results gelu_of(const Call& call) { return {gelu(call.x[0], call.value("approximate") != false)}; }
Results hard_shrunk(const Call& call) { return {hard_shrink(call.x[0], call.number("threshold", 0.5))}; }
Results soft_shrunk(const Call& call) { return {soft_shrink(call.x[0], call.number("threshold", 0.5))}; }
Results thresholded(const Call& call) {
  return {threshold(call.x[0], call.number("threshold", 0), call.number("default_value", 0))};
}
Results gated(const Call& call) { return {glu(call.x[0], call.axis("axis", -1))}; }
Results squareplus_of(const Call& call) {
  if (call.number("b", 4) != 4) call.refuse("has a b of 4; compose others of Sqrt, Square and Add");
  return {squareplus(call.x[0])};
}
Results cumulative_sum(const Call& call) { return {cumsum(counted(call.x[0]), call.axis("axis", 0))}; }
Results cumulative_product(const Call& call) { return {cumprod(counted(call.x[0]), call.axis("axis", 0))}; }
Results einsum_of(const Call& call) {
  Results operands;
  for (std::size_t i = 0; i < call.arguments(); ++i) operands.push_back(real(call.operand(i)));
  return {einsum(call.value("subscripts").get<std::string>(), operands)};
}
Results same(const Call& call) { return {stop_gradient(call.x[0])}; }

Tensor softmax_over(const Tensor& x, const std::vector<int>& axes) { return softmax(x, axes); }
Tensor log_softmax_over(const Tensor& x, const std::vector<int>& axes) { return log_softmax(x, axes); }
Tensor std_over(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return lockstep::std(x, axes, keepdims);
}

constexpr OperationRow rows[] = {
    {"Absolute", "numpy", each_number<abs>},
    {"Add", "numpy", of_two<add>, 2},
    {"All", "numpy", over_axes_of<all, truth>},
    {"Any", "numpy", over_axes_of<any, truth>},
    {"Argmax", "numpy", along_axis<argmax>},
    {"Argmin", "numpy", along_axis<argmin>},
    {"Argsort", "numpy", sorting},
    {"BroadcastTo", "numpy", broadcast},
    {"Cast", "core", cast_to},
    {"Ceil", "numpy", each<ceil>},
    {"Clip", "numpy", clipped},
    {"Concatenate", "numpy", concatenated, one_list},
    {"Cos", "numpy", each<cos>},
    {"Cumprod", "numpy", cumulative_product},
    {"Cumsum", "numpy", cumulative_sum},
    {"Divide", "numpy", of_two<divide, real>, 2},
    {"Dot", "numpy", of_two<dot, real>, 2},
    {"DotProductAttention", "nn", attended, 3, of_attention},
    {"Einsum", "numpy", einsum_of, any_number},
    {"Elu", "nn", elu_of},
    {"Equal", "numpy", compared<equal>, 2},
    {"Erf", "math", each<erf>},
    {"Exp", "numpy", each<exp>},
    {"ExpandDims", "numpy", expanded},
    {"Expm1", "numpy", each<expm1>},
    {"Flip", "numpy", flipped_over},
    {"Floor", "numpy", each<floor>},
    {"FullLike", "numpy", filled, 2},
    {"Gelu", "nn", gelu_of},
    {"GetItem", "numpy", get_item, 2},
    {"Glu", "nn", gated},
    {"Greater", "numpy", compared<greater>, 2},
    {"GreaterEqual", "numpy", compared<greater_equal>, 2},
    {"HardShrink", "nn", hard_shrunk},
    {"HardSigmoid", "nn", each<hard_sigmoid>},
    {"HardSilu", "nn", each<hard_silu>},
    {"HardTanh", "nn", each<hard_tanh>},
    {"Isfinite", "numpy", each<isfinite>},
    {"Isinf", "numpy", each<isinf>},
    {"Isnan", "numpy", each<isnan>},
    {"LeakyRelu", "nn", leaky},
    {"Less", "numpy", compared<less>, 2},
    {"LessEqual", "numpy", compared<less_equal>, 2},
    {"Log", "numpy", each<log>},
    {"Log10", "numpy", each<log10>},
    {"Log1p", "numpy", each<log1p>},
    {"Log2", "numpy", each<log2>},
    {"LogSigmoid", "nn", each<log_sigmoid>},
    {"LogSoftmax", "nn", along_axes<log_softmax_over>},
    {"LogicalAnd", "numpy", logic<logical_and>, 2},
    {"LogicalNot", "numpy", each_number<logical_not>},
    {"LogicalOr", "numpy", logic<logical_or>, 2},
    {"LogicalXor", "numpy", logic<logical_xor>, 2},
    {"Logsumexp", "math", over_axes_of<logsumexp>},
    {"Matmul", "numpy", of_two<matmul, real>, 2},
    {"Max", "numpy", over_axes_of<max, counted>},
    {"Maximum", "numpy", of_two<maximum>, 2},
    {"Mean", "numpy", over_axes_of<mean>},
    {"Min", "numpy", over_axes_of<min, counted>},
    {"Minimum", "numpy", of_two<minimum>, 2},
    {"Moveaxis", "numpy", moved},
    {"Multiply", "numpy", of_two<multiply>, 2},
    {"Negative", "numpy", each_number<negative>},
    {"Norm", "linalg", norm_of},
    {"NotEqual", "numpy", compared<not_equal>, 2},
    {"OneHot", "nn", one_hot_of},
    {"OnesLike", "numpy", full_of<1>},
    {"Pad", "numpy", padded, 1, of_pad},
    {"Power", "numpy", of_two<power>, 2},
    {"Prod", "numpy", over_axes_of<prod, counted>},
    {"Reciprocal", "numpy", each<reciprocal>},
    {"Relu", "nn", each<relu>},
    {"Relu6", "nn", each<relu6>},
    {"Repeat", "numpy", repeated_along},
    {"Reshape", "numpy", reshaped},
    {"Roll", "numpy", rolled},
    {"Round", "numpy", rounded},
    {"Rsqrt", "math", each<rsqrt>},
    {"Selu", "nn", each<selu>},
    {"Sigmoid", "nn", each<sigmoid>},
    {"Sign", "numpy", each_number<sign>},
    {"Silu", "nn", each<silu>},
    {"Sin", "numpy", each<sin>},
    {"SoftShrink", "nn", soft_shrunk},
    {"Softmax", "nn", along_axes<softmax_over>},
    {"Softplus", "nn", each<softplus>},
    {"Softsign", "nn", each<softsign>},
    {"Sort", "numpy", sorted},
    {"SparsePlus", "nn", each<sparse_plus>},
    {"SparseSigmoid", "nn", each<sparse_sigmoid>},
    {"Split", "numpy", split_up},
    {"Sqrt", "numpy", each<sqrt>},
    {"Square", "numpy", each_number<square>},
    {"Squareplus", "nn", squareplus_of},
    {"Squeeze", "numpy", squeezed},
    {"Stack", "numpy", stacked, one_list},
    {"Std", "numpy", over_axes_of<std_over>},
    {"StopGradient", "core", same},
    {"Subtract", "numpy", of_two<subtract>, 2},
    {"Sum", "numpy", over_axes_of<sum, counted>},
    {"Swapaxes", "numpy", swapped},
    {"Take", "numpy", taken, 2},
    {"TakeAlongAxis", "numpy", taken_along, 2},
    {"Tanh", "numpy", each<tanh>},
    {"TanhShrink", "nn", each<tanh_shrink>},
    {"Tensordot", "numpy", tensordot_of, 2},
    {"Threshold", "nn", thresholded},
    {"Tile", "numpy", tiled},
    {"TopK", "math", largest},
    {"Transpose", "numpy", transposed},
    {"Tril", "numpy", of_triangle<tril>},
    {"Triu", "numpy", of_triangle<triu>},
    {"TrueDivide", "numpy", of_two<divide, real>, 2},
    {"Unstack", "core", unstacked},
    {"Var", "numpy", over_axes_of<var>},
    {"Where", "numpy", chosen, 3},
    {"ZerosLike", "numpy", full_of<0>},
};

}  // namespace

std::span<const OperationRow> operation_rows() { return rows; }

}  // namespace lockstep
