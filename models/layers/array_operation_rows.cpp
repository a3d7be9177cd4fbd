#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/indexing/diagonal.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/sorting/sort.h>
#include <lockstep/models/layers/operation_call.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using Call = OperationCall;
using Results = std::vector<Tensor>;

/// The elements begin, begin + step, ... up to but excluding `end`: a slice of n elements.
struct Places {
  std::int64_t begin, end, step;
};
Places places_of(const Call& call, const Json& key, std::int64_t n) {
  const Json& slice = key.at("config");
  const std::int64_t step = slice.at("step").is_null() ? 1 : call.whole<std::int64_t>("step", slice.at("step"));
  if (step == 0) call.refuse("takes slices with a step other than 0");
  const std::int64_t least = step > 0 ? 0 : -1;
  const std::int64_t most = least + n;
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    if (slice.at(name).is_null()) return otherwise;
    const auto at = call.whole<std::int64_t>(name, slice.at(name));
    return std::clamp(at < 0 ? at + n : at, least, most);
  };
  const std::int64_t begin = bound("start", step > 0 ? least : most);
  const std::int64_t end = bound("stop", step > 0 ? most : least);
  return {begin, step > 0 ? std::max(begin, end) : std::min(begin, end), step};
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
      const auto given = call.whole<std::int64_t>("key", key);
      const std::int64_t at = given < 0 ? given + n : given;
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
    shape.push_back(sizes[i].is_null() ? -1 : call.whole<std::int64_t>("newshape", sizes[i]));
    if (shape.dim(-1) < 1) call.refuse("needs a newshape with sizes of at least 1 after the first one");
    if (__builtin_mul_overflow(product, shape.dim(-1), &product)) call.refuse("has a newshape of too many elements");
  }
  if (product != elements) call.refuse("needs a newshape that keeps the batch axis and the number of elements");
  return {reshape(x, shape)};
}

Results transposed(const Call& call) {
  const Json& axes = call.value("axes");
  if (!axes.is_array() || axes.empty() || axes[0] != 0) call.refuse("needs axes that begin with the batch axis, 0");
  return {transpose(call.x[0], call.whole_list<int>("axes", axes))};
}

Results split_up(const Call& call) {
  const Tensor& x = call.x[0];
  const int axis = call.axis("axis", 0);
  const std::vector<std::int64_t> where = call.integers("indices_or_sections");
  return call.value("indices_or_sections").is_array() ? split(x, where, axis) : split(x, where[0], axis);
}

/// The constant argument start_indices, of which the first is that of the batch axis, 0.
std::vector<std::int64_t> start_indices_of(const Call& call) {
  const Json& given = call.argument(1);
  const bool is_tensor = given.is_object() && !call.is_input(1);
  const auto starts =
      call.whole_list<std::int64_t>("start_indices", is_tensor ? given.at("config").at("value") : given);
  if (!call.is_input(0) || starts.size() != static_cast<std::size_t>(call.x[0].rank()) || starts[0] != 0)
    call.refuse("needs a start index for each axis of its input, of which the first is 0 for the batch axis");
  return starts;
}

Results sliced(const Call& call) {
  const std::vector<std::int64_t> starts = start_indices_of(call);
  const std::vector<std::int64_t> sizes = call.integers("shape");
  if (sizes.size() != starts.size()) call.refuse("needs a shape of as many axes as its input has");
  Tensor x = call.x[0];
  if (x.dim(0) != 0 && sizes[0] != -1 && sizes[0] != x.dim(0))
    call.refuse(fmt::format("is for batches of {} examples, got {}", sizes[0], x.dim(0)));
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const int axis = static_cast<int>(i);
    const std::int64_t n = x.dim(axis);
    const std::int64_t size = sizes[i] == -1 ? n - starts[i] : sizes[i];
    if (starts[i] < 0 || size < 0 || starts[i] > n || size > n - starts[i])
      call.refuse("has a slice outside its input");
    x = slice(x, axis, starts[i], starts[i] + size);
  }
  return {x};
}

Results slice_updated(const Call& call) {
  const std::vector<std::int64_t> starts = start_indices_of(call);
  if (!call.is_input(2)) call.refuse("takes a batch of updates; BroadcastTo makes one of a constant");
  return {slice_update(call.operand(0), starts, cast(call.operand(2), call.operand(0).dtype()))};
}

Results diagonals(const Call& call) {
  return {diagonal(call.x[0], call.value("offset").is_null() ? 0 : call.integer("offset"), call.axis("axis1", 0),
                   call.axis("axis2", 1))};
}

Results squeezed(const Call& call) {
  if (call.value("axis").is_null()) call.refuse("needs the axis to leave out");
  return {squeeze(call.x[0], call.axes("axis"))};
}

Results concatenated(const Call& call) { return {concatenate(call.x, call.axis("axis", 0))}; }
Results stacked(const Call& call) { return {stack(call.x, call.new_axis("axis", 0, call.x[0].rank() + 1))}; }
Results unstacked(const Call& call) {
  call.value("num");
  return unstack(call.x[0], call.axis("axis", 0));
}
Results expanded(const Call& call) { return {expand_dims(call.x[0], call.new_axes("axis"))}; }
Results swapped(const Call& call) { return {swapaxes(call.x[0], call.axis("axis1", 0), call.axis("axis2", 0))}; }
Results moved(const Call& call) { return {moveaxis(call.x[0], call.axes("source"), call.axes("destination"))}; }
Results flipped_over(const Call& call) { return {flip(call.x[0], call.axes("axis"))}; }

/// By a shift for each axis, or by one for all.
Results rolled(const Call& call) {
  const std::vector<int> axes = call.axes("axis");
  if (call.value("shift").is_array()) return {roll(call.x[0], call.integers("shift"), axes)};
  return {roll(call.x[0], std::vector(axes.size(), call.integer("shift")), axes)};
}

Results repeated_along(const Call& call) {
  const int axis = call.axis("axis", 0);
  if (call.value("repeats").is_array()) return {repeat(call.x[0], call.integers("repeats"), axis)};
  return {repeat(call.x[0], call.integer("repeats"), axis)};
}
Results cast_to(const Call& call) { return {cast(call.x[0], call.dtype("dtype", DType::f32))}; }
Results converted(const Call& call) {
  if (call.flag("sparse") || call.flag("ragged")) call.refuse("makes dense tensors only; leave sparse and ragged out");
  return {cast(call.x[0], call.dtype("dtype", call.x[0].dtype()))};
}
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

template <Tensor (*op)(const Tensor&, std::int64_t)>
Results of_triangle(const Call& call) {
  if (call.x[0].rank() < 3) call.refuse("takes matrices, (batch, rows, columns)");
  return {op(call.x[0], call.value("k").is_null() ? 0 : call.integer("k"))};
}

/// Rows of a batch at constant indices, or rows of a constant at a batch of indices.
Results taken(const Call& call) {
  const Tensor x = call.operand(0);
  const Tensor indices = cast(call.operand(1), DType::i64);
  if (call.is_input(0)) return {take(x, indices, call.axis("axis", 0))};
  const Json& axis = call.value("axis");
  return {take(x, indices, axis.is_null() ? std::nullopt : std::optional(call.whole<int>("axis", axis)))};
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
  const PadMode mode = call.choice("mode", PadMode::constant,
                                   {{"constant", PadMode::constant},
                                    {"reflect", PadMode::reflect},
                                    {"symmetric", PadMode::symmetric},
                                    {"edge", PadMode::edge}});
  const Json& pairs = call.value("pad_width");
  if (!pairs.is_array() || pairs.empty() || !pairs[0].is_array())
    call.refuse("needs a pad_width with a pair for each axis, such as [[0, 0], [1, 1]]");
  std::vector<PadWidth> widths;
  const auto width = [&](const Json& value) { return call.whole<std::int64_t>("pad_width", value); };
  for (const Json& pair : pairs) widths.push_back({width(pair.at(0)), width(pair.at(1))});
  if (widths.size() == 1) widths.resize(static_cast<std::size_t>(call.x[0].rank()), widths[0]);
  if (widths.empty() || widths[0].before != 0 || widths[0].after != 0)
    call.refuse("cannot add examples to a batch: the first pair of its pad_width must be [0, 0]");
  const Json& value = call.argument(1);
  return {pad(call.operand(0), widths, mode, value.is_null() ? 0 : value.get<double>())};
}

Results tiled(const Call& call) {
  const std::vector<std::int64_t> repeats = call.integers("repeats");
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
  for (std::size_t axis = 1; axis < sizes.size(); ++axis)
    shape.push_back(call.whole<std::int64_t>("shape", sizes[axis]));
  return {broadcast_to(x, shape)};
}

Results largest(const Call& call) {
  call.value("sorted");
  if (call.x[0].rank() < 2) call.refuse("works along the last axis, which is the batch axis of its input");
  const TopK found = top_k(call.x[0], call.integer("k"));
  return {found.values, found.indices};
}
Results sorted(const Call& call) { return {sort(call.x[0], call.axis("axis", -1))}; }
Results sorting(const Call& call) { return {argsort(call.x[0], call.axis("axis", -1))}; }

Results same(const Call& call) { return {stop_gradient(call.x[0])}; }

constexpr std::string_view of_pad[] = {"constant_values"};
constexpr OperationRow array_rows[] = {
    {"Argsort", "numpy", sorting},
    {"BroadcastTo", "numpy", broadcast},
    {"Cast", "core", cast_to},
    {"Concatenate", "numpy", concatenated, one_list},
    {"ConvertToTensor", "core", converted},
    {"Diagonal", "numpy", diagonals},
    {"ExpandDims", "numpy", expanded},
    {"Flip", "numpy", flipped_over},
    {"FullLike", "numpy", filled, 2},
    {"GetItem", "numpy", get_item, 2},
    {"Moveaxis", "numpy", moved},
    {"OneHot", "nn", one_hot_of},
    {"OnesLike", "numpy", full_of<1>},
    {"Pad", "numpy", padded, 1, of_pad},
    {"Repeat", "numpy", repeated_along},
    {"Reshape", "numpy", reshaped},
    {"Roll", "numpy", rolled},
    {"Slice", "core", sliced, 2},
    {"SliceUpdate", "core", slice_updated, 3},
    {"Sort", "numpy", sorted},
    {"Split", "numpy", split_up},
    {"Squeeze", "numpy", squeezed},
    {"Stack", "numpy", stacked, one_list},
    {"StopGradient", "core", same},
    {"Swapaxes", "numpy", swapped},
    {"Take", "numpy", taken, 2},
    {"TakeAlongAxis", "numpy", taken_along, 2},
    {"Tile", "numpy", tiled},
    {"TopK", "math", largest},
    {"Transpose", "numpy", transposed},
    {"Tril", "numpy", of_triangle<tril>},
    {"Triu", "numpy", of_triangle<triu>},
    {"Unstack", "core", unstacked},
    {"ZerosLike", "numpy", full_of<0>},
};

}  // namespace

std::span<const OperationRow> array_operation_rows() { return array_rows; }

}  // namespace lockstep
