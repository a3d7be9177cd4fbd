#include <algorithm>
#include <limits>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/statistics.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/matmul/einsum.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/scan/product.h>
#include <lockstep/kernels/scan/scan.h>
#include <lockstep/models/layers/operation_call.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Call = OperationCall;
using Results = std::vector<Tensor>;

template <Tensor (*op)(const Tensor&)>
Results each(const Call& call) {
  return {op(call.x[0])};
}

template <Tensor (*op)(const Tensor&, const Tensor&)>
Results of_two(const Call& call) {
  return {op(call.operand(0), call.operand(1))};
}

template <Tensor (*op)(const Tensor&, const std::vector<int>&, bool)>
Results over_axes_of(const Call& call) {
  return {op(call.x[0], call.axes("axis"), call.flag("keepdims"))};
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
  Results parts;
  std::int64_t begin = 0;
  auto ends = where.get<std::vector<std::int64_t>>();
  ends.push_back(x.dim(axis));
  for (const std::int64_t end : ends) {
    parts.push_back(slice(x, axis, begin, end));
    begin = end;
  }
  return parts;
}

Results squeezed(const Call& call) {
  const Json& axis = call.value("axis");
  if (axis.is_null()) call.refuse("needs the axis to leave out");
  return {squeeze(call.x[0], axis.is_array() ? call.axes("axis") : std::vector{call.axis("axis", -1)})};
}

Results concatenated(const Call& call) { return {concat(call.x, call.axis("axis", 0))}; }
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
Results cast_to(const Call& call) {
  if (call.value("dtype") != "float32") call.refuse("casts to float32 only; set the dtype policy of layers instead");
  return {cast(call.x[0], DType::f32)};
}
Results ones_of(const Call& call) {
  if (const Json& dtype = call.value("dtype"); !dtype.is_null() && dtype != "float32")
    call.refuse("makes float32 only; leave its dtype out");
  return {Tensor::full(call.x[0].shape(), 1)};
}
Results clipped(const Call& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {clip(call.x[0], call.number("x_min", -infinity), call.number("x_max", infinity))};
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
Results cumulative_sum(const Call& call) { return {cumsum(call.x[0], call.axis("axis", 0))}; }
Results cumulative_product(const Call& call) { return {cumprod(call.x[0], call.axis("axis", 0))}; }
Results einsum_of(const Call& call) { return {einsum(call.value("subscripts").get<std::string>(), call.x)}; }
Results same(const Call& call) { return {stop_gradient(call.x[0])}; }

Tensor softmax_over(const Tensor& x, const std::vector<int>& axes) { return softmax(x, axes); }
Tensor log_softmax_over(const Tensor& x, const std::vector<int>& axes) { return log_softmax(x, axes); }
Tensor std_over(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  return lockstep::std(x, axes, keepdims);
}

constexpr OperationRow rows[] = {
    {"Absolute", "numpy", each<abs>},
    {"Add", "numpy", of_two<add>, 2},
    {"Cast", "core", cast_to},
    {"Ceil", "numpy", each<ceil>},
    {"Clip", "numpy", clipped},
    {"Concatenate", "numpy", concatenated, one_list},
    {"Cos", "numpy", each<cos>},
    {"Cumprod", "numpy", cumulative_product},
    {"Cumsum", "numpy", cumulative_sum},
    {"Divide", "numpy", of_two<divide>, 2},
    {"Einsum", "numpy", einsum_of, any_number},
    {"Elu", "nn", elu_of},
    {"Erf", "math", each<erf>},
    {"Exp", "numpy", each<exp>},
    {"ExpandDims", "numpy", expanded},
    {"Expm1", "numpy", each<expm1>},
    {"Flip", "numpy", flipped_over},
    {"Floor", "numpy", each<floor>},
    {"Gelu", "nn", gelu_of},
    {"GetItem", "numpy", get_item, 2},
    {"Glu", "nn", gated},
    {"HardShrink", "nn", hard_shrunk},
    {"HardSigmoid", "nn", each<hard_sigmoid>},
    {"HardSilu", "nn", each<hard_silu>},
    {"HardTanh", "nn", each<hard_tanh>},
    {"LeakyRelu", "nn", leaky},
    {"Log", "numpy", each<log>},
    {"Log10", "numpy", each<log10>},
    {"Log1p", "numpy", each<log1p>},
    {"Log2", "numpy", each<log2>},
    {"LogSigmoid", "nn", each<log_sigmoid>},
    {"LogSoftmax", "nn", along_axes<log_softmax_over>},
    {"Logsumexp", "math", over_axes_of<logsumexp>},
    {"Matmul", "numpy", of_two<matmul>, 2},
    {"Max", "numpy", over_axes_of<max>},
    {"Maximum", "numpy", of_two<maximum>, 2},
    {"Mean", "numpy", over_axes_of<mean>},
    {"Min", "numpy", over_axes_of<min>},
    {"Minimum", "numpy", of_two<minimum>, 2},
    {"Moveaxis", "numpy", moved},
    {"Multiply", "numpy", of_two<multiply>, 2},
    {"Negative", "numpy", each<negative>},
    {"OnesLike", "numpy", ones_of},
    {"Power", "numpy", of_two<power>, 2},
    {"Prod", "numpy", over_axes_of<prod>},
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
    {"Sign", "numpy", each<sign>},
    {"Silu", "nn", each<silu>},
    {"Sin", "numpy", each<sin>},
    {"SoftShrink", "nn", soft_shrunk},
    {"Softmax", "nn", along_axes<softmax_over>},
    {"Softplus", "nn", each<softplus>},
    {"Softsign", "nn", each<softsign>},
    {"SparsePlus", "nn", each<sparse_plus>},
    {"SparseSigmoid", "nn", each<sparse_sigmoid>},
    {"Split", "numpy", split_up},
    {"Sqrt", "numpy", each<sqrt>},
    {"Square", "numpy", each<square>},
    {"Squareplus", "nn", squareplus_of},
    {"Squeeze", "numpy", squeezed},
    {"Stack", "numpy", stacked, one_list},
    {"Std", "numpy", over_axes_of<std_over>},
    {"StopGradient", "core", same},
    {"Subtract", "numpy", of_two<subtract>, 2},
    {"Sum", "numpy", over_axes_of<sum>},
    {"Swapaxes", "numpy", swapped},
    {"Tanh", "numpy", each<tanh>},
    {"TanhShrink", "nn", each<tanh_shrink>},
    {"Threshold", "nn", thresholded},
    {"Transpose", "numpy", transposed},
    {"TrueDivide", "numpy", of_two<divide>, 2},
    {"Unstack", "core", unstacked},
    {"Var", "numpy", over_axes_of<var>},
};

}  // namespace

std::span<const OperationRow> operation_rows() { return rows; }

}  // namespace lockstep
