#include "lockstep/models/layers/reshape.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/kernels/array/pad.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/unknown_shape.h>

namespace lockstep {
namespace {

/// Reads and writes the widths as a list of two, and reads one number for both.
void list_borders(LayerConfig& config, const char* key, Borders1d& borders) {
  Size2d pair{borders.before, borders.after};
  config.option(key, pair);
  borders = {pair.height, pair.width};
}

class ReshapeImpl final : public LayerOf<ReshapeOptions>, public FindsUnknownShape {
 public:
  explicit ReshapeImpl(const ReshapeOptions& options)
      : LayerOf("Reshape", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    int unknown = 0;
    for (const std::int64_t size : options.target_shape) {
      require(size >= -1, "Reshape needs sizes of at least 1, or one -1, got {}", options.target_shape);
      unknown += size == -1 ? 1 : 0;
    }
    require(unknown <= 1, "Reshape can compute only one size, marked by -1, got {}", options.target_shape);
  }

  Shape output_shape(std::span<const Shape> inputs) const override { return shape_of(only_input("Reshape", inputs)); }

  /// As in Keras, each batch is checked for sizes that fit the target shape.
  std::optional<Shape> unknown_output_shape(std::span<const Shape> inputs) const override {
    only_input("Reshape", inputs);
    return options_.target_shape;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    return reshape(x, with_batch_axis(shape_of(without_batch_axis(x.shape())), x.dim(0)));
  }

 private:
  /// The target shape of one example. It does not include the batch axis, so that the size for -1 is known even for an
  /// empty batch.
  Shape shape_of(const Shape& input) const {
    Shape sizes = options_.target_shape;
    for (int axis = 0; axis < sizes.rank(); ++axis) sizes[axis] = std::abs(sizes[axis]);
    const std::int64_t known = sizes.elements();
    Shape result = options_.target_shape;
    for (int axis = 0; axis < result.rank(); ++axis)
      if (result[axis] == -1 && known > 0) result[axis] = input.elements() / known;
    require(known > 0 && result.elements() == input.elements(), "Reshape cannot make {} of {}, which has {} elements",
            options_.target_shape, input, input.elements());
    return result;
  }
};

class PermuteImpl final : public LayerOf<PermuteOptions> {
 public:
  explicit PermuteImpl(const PermuteOptions& options)
      : LayerOf("Permute", options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
    std::vector<std::int64_t> sorted = options.dims;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      require(sorted[i] == static_cast<std::int64_t>(i) + 1,
              "Permute needs dims that are the numbers from 1 to {} in some order, got ({})", sorted.size(),
              fmt::join(options.dims, ", "));
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const std::vector<std::int64_t>& dims = options_.dims;
    require(static_cast<std::size_t>(input.rank()) == dims.size(), "Permute with dims ({}) takes {} axes, got {}",
            fmt::join(dims, ", "), dims.size(), input);
    Shape result;
    for (const std::int64_t dim : dims) result.push_back(input[static_cast<int>(dim) - 1]);
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    std::vector<int> axes{0};
    axes.insert(axes.end(), options_.dims.begin(), options_.dims.end());
    return transpose(inputs[0], axes);
  }
};

/// The widths before and after each spatial axis.
std::vector<PadWidth> widths_of(const Borders2d& borders) {
  return {{borders.top, borders.bottom}, {borders.left, borders.right}};
}
std::vector<PadWidth> widths_of(const Borders1d& borders) { return {{borders.before, borders.after}}; }

/// "(1, 2)" for each axis.
std::string text_of(const std::vector<PadWidth>& widths) {
  std::string text;
  for (const PadWidth& width : widths)
    text += fmt::format("{}({}, {})", text.empty() ? "" : ", ", width.before, width.after);
  return text;
}

/// The widths that a layer was given as `what`. Throws InvalidArgument for a negative one.
std::vector<PadWidth> checked_widths(const char* layer, const char* what, const std::vector<PadWidth>& widths) {
  require(std::ranges::all_of(widths, [](const PadWidth& width) { return width.before >= 0 && width.after >= 0; }),
          "{} needs {} of at least 0, got {}", layer, what, text_of(widths));
  return widths;
}

/// Options: ZeroPadding2DOptions or ZeroPadding1DOptions.
template <class Options>
class ZeroPaddingImpl final : public LayerOf<Options> {
 public:
  ZeroPaddingImpl(const char* class_name, const Options& options)
      : LayerOf<Options>(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        widths_(checked_widths(class_name, "padding", widths_of(options.padding))) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = is_1d ? only_sequence(class_name_, inputs) : only_image(class_name_, inputs);
    Shape result = input;
    for (int axis = 0; axis < result.rank() - 1; ++axis) {
      const auto [before, after] = widths_[static_cast<std::size_t>(axis)];
      const auto added = static_cast<double>(before) + static_cast<double>(after);
      check_size_of_result(class_name_, input, added + static_cast<double>(input[axis]));
      result[axis] += before + after;
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    if constexpr (is_1d)
      return pad(inputs[0], {{}, widths_[0], {}});
    else
      return zero_pad2d(inputs[0], options_.padding);
  }

 private:
  using LayerOf<Options>::class_name_;
  using LayerOf<Options>::options_;

  static constexpr bool is_1d = std::is_same_v<Options, ZeroPadding1DOptions>;

  std::vector<PadWidth> widths_;
};

/// Options: Cropping2DOptions or Cropping1DOptions.
template <class Options>
class CroppingImpl final : public LayerOf<Options> {
 public:
  CroppingImpl(const char* class_name, const Options& options)
      : LayerOf<Options>(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true}),
        widths_(checked_widths(class_name, "cropping", widths_of(options.cropping))) {}

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = is_1d ? only_sequence(class_name_, inputs) : only_image(class_name_, inputs);
    Shape result = input;
    for (int axis = 0; axis < result.rank() - 1; ++axis) {
      const auto [before, after] = widths_[static_cast<std::size_t>(axis)];
      // Avoids the sum of both borders, which may exceed 64 bits.
      require(before < input[axis] && after < input[axis] - before, "{} of {} leaves nothing of {}", class_name_,
              text_of(widths_), input);
      result[axis] -= before + after;
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    Tensor y = inputs[0];
    for (int axis = 1; axis < y.rank() - 1; ++axis) {
      const auto [before, after] = widths_[static_cast<std::size_t>(axis - 1)];
      y = slice(y, axis, before, y.dim(axis) - after);
    }
    return y;
  }

 private:
  using LayerOf<Options>::class_name_;

  static constexpr bool is_1d = std::is_same_v<Options, Cropping1DOptions>;

  std::vector<PadWidth> widths_;
};

}  // namespace

void ReshapeOptions::describe(LayerConfig& config) { config.option("target_shape", target_shape); }

void PermuteOptions::describe(LayerConfig& config) { config.option("dims", dims); }

void ZeroPadding2DOptions::describe(LayerConfig& config) {
  config.option("padding", padding);
  config.channels_last();
}

void ZeroPadding1DOptions::describe(LayerConfig& config) {
  list_borders(config, "padding", padding);
  config.channels_last();
}

void Cropping1DOptions::describe(LayerConfig& config) { list_borders(config, "cropping", cropping); }

void Cropping2DOptions::describe(LayerConfig& config) {
  config.option("cropping", cropping);
  config.channels_last();
}

Reshape::Reshape(const ReshapeOptions& options) : Layer(std::make_shared<ReshapeImpl>(options)) {}

Permute::Permute(const PermuteOptions& options) : Layer(std::make_shared<PermuteImpl>(options)) {}

ZeroPadding2D::ZeroPadding2D(const ZeroPadding2DOptions& options)
    : Layer(std::make_shared<ZeroPaddingImpl<ZeroPadding2DOptions>>("ZeroPadding2D", options)) {}

ZeroPadding1D::ZeroPadding1D(const ZeroPadding1DOptions& options)
    : Layer(std::make_shared<ZeroPaddingImpl<ZeroPadding1DOptions>>("ZeroPadding1D", options)) {}

Cropping1D::Cropping1D(const Cropping1DOptions& options)
    : Layer(std::make_shared<CroppingImpl<Cropping1DOptions>>("Cropping1D", options)) {}

Cropping2D::Cropping2D(const Cropping2DOptions& options)
    : Layer(std::make_shared<CroppingImpl<Cropping2DOptions>>("Cropping2D", options)) {}

}  // namespace lockstep
