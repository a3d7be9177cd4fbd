#include "lockstep/models/layers/reshape.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include <lockstep/kernels/array/pad.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/unknown_shape.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, ReshapeOptions& options) { config.option("target_shape", options.target_shape); }

void list(LayerConfig& config, PermuteOptions& options) { config.option("dims", options.dims); }

void list(LayerConfig& config, ZeroPadding2DOptions& options) {
  config.option("padding", options.padding);
  config.channels_last();
}

/// Reads and writes the widths as a list of two, and reads one number for both.
void list_borders(LayerConfig& config, const char* key, Borders1d& borders) {
  Size2d pair{borders.before, borders.after};
  config.option(key, pair);
  borders = {pair.height, pair.width};
}

void list(LayerConfig& config, ZeroPadding1DOptions& options) {
  list_borders(config, "padding", options.padding);
  config.channels_last();
}

void list(LayerConfig& config, Cropping1DOptions& options) { list_borders(config, "cropping", options.cropping); }

void list(LayerConfig& config, Cropping2DOptions& options) {
  config.option("cropping", options.cropping);
  config.channels_last();
}

class ReshapeImpl final : public LayerOf<ReshapeOptions>, public FindsUnknownShape {
 public:
  explicit ReshapeImpl(const ReshapeOptions& options)
      : LayerOf("Reshape", list, options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
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
      : LayerOf("Permute", list, options, {.can_compute_in_bf16 = true, .can_be_captured = true}) {
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

void check_padded(std::string_view layer, const Shape& input, std::int64_t before, std::int64_t size,
                  std::int64_t after) {
  const auto padding = static_cast<double>(before) + static_cast<double>(after);
  check_size_of_result(layer, input, padding + static_cast<double>(size));
}

/// Whether cropping leaves any of `size` elements. Avoids the sum of both borders, which may exceed 64 bits.
bool leaves_any(std::int64_t size, std::int64_t before, std::int64_t after) {
  return before < size && after < size - before;
}

class ZeroPadding2DImpl final : public LayerImpl {
 public:
  explicit ZeroPadding2DImpl(const ZeroPadding2DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), padding_(options.padding) {
    require(padding_.top >= 0 && padding_.bottom >= 0 && padding_.left >= 0 && padding_.right >= 0,
            "ZeroPadding2D needs padding of at least 0, got ({}, {}), ({}, {})", padding_.top, padding_.bottom,
            padding_.left, padding_.right);
  }

  std::string_view class_name() const override { return "ZeroPadding2D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    check_padded(class_name(), image, padding_.top, image[0], padding_.bottom);
    check_padded(class_name(), image, padding_.left, image[1], padding_.right);
    return {padding_.top + image[0] + padding_.bottom, padding_.left + image[1] + padding_.right, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return zero_pad2d(inputs[0], padding_); }

  void describe(LayerConfig& config) const override {
    write_options(config, list, ZeroPadding2DOptions{.padding = padding_});
  }

 private:
  Borders2d padding_;
};

class ZeroPadding1DImpl final : public LayerImpl {
 public:
  explicit ZeroPadding1DImpl(const ZeroPadding1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), padding_(options.padding) {
    require(padding_.before >= 0 && padding_.after >= 0, "ZeroPadding1D needs padding of at least 0, got ({}, {})",
            padding_.before, padding_.after);
  }

  std::string_view class_name() const override { return "ZeroPadding1D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& sequence = only_sequence(class_name(), inputs);
    check_padded(class_name(), sequence, padding_.before, sequence[0], padding_.after);
    return {padding_.before + sequence[0] + padding_.after, sequence[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return pad(inputs[0], {{0, 0}, {padding_.before, padding_.after}, {0, 0}});
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, ZeroPadding1DOptions{.padding = padding_});
  }

 private:
  Borders1d padding_;
};

class Cropping1DImpl final : public LayerImpl {
 public:
  explicit Cropping1DImpl(const Cropping1DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), cropping_(options.cropping) {
    require(cropping_.before >= 0 && cropping_.after >= 0, "Cropping1D needs cropping of at least 0, got ({}, {})",
            cropping_.before, cropping_.after);
  }

  std::string_view class_name() const override { return "Cropping1D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& sequence = only_sequence(class_name(), inputs);
    require(leaves_any(sequence[0], cropping_.before, cropping_.after), "Cropping1D of ({}, {}) leaves nothing of {}",
            cropping_.before, cropping_.after, sequence);
    return {sequence[0] - cropping_.before - cropping_.after, sequence[1]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return slice(inputs[0], 1, cropping_.before, inputs[0].dim(1) - cropping_.after);
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, Cropping1DOptions{.cropping = cropping_});
  }

 private:
  Borders1d cropping_;
};

class Cropping2DImpl final : public LayerImpl {
 public:
  explicit Cropping2DImpl(const Cropping2DOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true}), cropping_(options.cropping) {
    require(cropping_.top >= 0 && cropping_.bottom >= 0 && cropping_.left >= 0 && cropping_.right >= 0,
            "Cropping2D needs cropping of at least 0, got ({}, {}), ({}, {})", cropping_.top, cropping_.bottom,
            cropping_.left, cropping_.right);
  }

  std::string_view class_name() const override { return "Cropping2D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    require(
        leaves_any(image[0], cropping_.top, cropping_.bottom) && leaves_any(image[1], cropping_.left, cropping_.right),
        "Cropping2D of ({}, {}), ({}, {}) leaves nothing of {}", cropping_.top, cropping_.bottom, cropping_.left,
        cropping_.right, image);
    return {image[0] - cropping_.top - cropping_.bottom, image[1] - cropping_.left - cropping_.right, image[2]};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& x = inputs[0];
    const Tensor rows = slice(x, 1, cropping_.top, x.dim(1) - cropping_.bottom);
    return slice(rows, 2, cropping_.left, x.dim(2) - cropping_.right);
  }

  void describe(LayerConfig& config) const override {
    write_options(config, list, Cropping2DOptions{.cropping = cropping_});
  }

 private:
  Borders2d cropping_;
};

}  // namespace

Reshape::Reshape(const ReshapeOptions& options) : Layer(std::make_shared<ReshapeImpl>(options)) {}

Reshape Reshape::from_config(LayerConfig& config) { return Reshape(read_options<ReshapeOptions>(config, list)); }

Permute::Permute(const PermuteOptions& options) : Layer(std::make_shared<PermuteImpl>(options)) {}

Permute Permute::from_config(LayerConfig& config) { return Permute(read_options<PermuteOptions>(config, list)); }

ZeroPadding2D::ZeroPadding2D(const ZeroPadding2DOptions& options)
    : Layer(std::make_shared<ZeroPadding2DImpl>(options)) {}

ZeroPadding2D ZeroPadding2D::from_config(LayerConfig& config) {
  return ZeroPadding2D(read_options<ZeroPadding2DOptions>(config, list));
}

ZeroPadding1D::ZeroPadding1D(const ZeroPadding1DOptions& options)
    : Layer(std::make_shared<ZeroPadding1DImpl>(options)) {}

ZeroPadding1D ZeroPadding1D::from_config(LayerConfig& config) {
  return ZeroPadding1D(read_options<ZeroPadding1DOptions>(config, list));
}

Cropping1D::Cropping1D(const Cropping1DOptions& options) : Layer(std::make_shared<Cropping1DImpl>(options)) {}

Cropping1D Cropping1D::from_config(LayerConfig& config) {
  return Cropping1D(read_options<Cropping1DOptions>(config, list));
}

Cropping2D::Cropping2D(const Cropping2DOptions& options) : Layer(std::make_shared<Cropping2DImpl>(options)) {}

Cropping2D Cropping2D::from_config(LayerConfig& config) {
  return Cropping2D(read_options<Cropping2DOptions>(config, list));
}

}  // namespace lockstep
