#include "lockstep/models/layers/preprocessing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ranges>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/data/normalization.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

using Values = std::vector<double>;

bool are_finite(const Values& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// Throws InvalidArgument unless there is one value or one for each channel of an input.
void check_channels(std::string_view layer, const char* option, const Values& values, const Shape& input) {
  require(values.size() <= 1 || (input.rank() >= 1 && static_cast<std::size_t>(input.dim(-1)) == values.size()),
          "{} has {} values for {}, got {}: it needs one, or as many as the last axis has", layer, values.size(),
          option, input);
}

/// Copies numbers of this shape, which broadcasts to the tensor's, to a tensor.
Initializer initial(const Values& values, const Shape& shape) {
  return [values, shape](const Tensor& to) {
    const auto source_of = [&](std::int64_t element) {
      std::int64_t source = 0;
      std::int64_t stride = 1;
      for (int axis = -1; axis >= -shape.rank(); --axis) {
        source += element % to.dim(axis) % shape.dim(axis) * stride;
        stride *= shape.dim(axis);
        element /= to.dim(axis);
      }
      return static_cast<std::size_t>(source);
    };
    const std::span<float> elements = to.span<float>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = static_cast<float>(values[source_of(static_cast<std::int64_t>(i))]);
  };
}

class RescalingImpl final : public LayerOf<RescalingLayerOptions> {
 public:
  explicit RescalingImpl(const RescalingLayerOptions& options)
      : LayerOf("Rescaling", options,
                {.can_compute_in_bf16 = options.scale.size() == 1 && options.offset.size() == 1,
                 .can_be_captured = true,
                 .supports_masking = true}) {
    require(!options.scale.empty() && !options.offset.empty(), "Rescaling needs a scale and an offset");
    require(are_finite(options.scale) && are_finite(options.offset),
            "Rescaling needs a scale and an offset that are finite");
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    check_channels(class_name(), "scale", options_.scale, input);
    check_channels(class_name(), "offset", options_.offset, input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor scaled =
        scale_.defined() ? multiply(inputs[0], scale_.value()) : multiply(inputs[0], options_.scale.front());
    return offset_.defined() ? add(scaled, offset_.value()) : add(scaled, options_.offset.front());
  }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed&) override {
    const auto by_channel = [](const char* name, const Values& values) {
      if (values.size() == 1) return Variable();
      const Shape shape{static_cast<std::int64_t>(values.size())};
      return constant_weight({.name = name, .shape = shape, .initializer = initial(values, shape)});
    };
    scale_ = by_channel("scale", options_.scale);
    offset_ = by_channel("offset", options_.offset);
  }

  Variable scale_;   ///< undefined for one number
  Variable offset_;  ///< undefined for one number
};

class NormalizationImpl final : public LayerOf<NormalizationOptions> {
 public:
  explicit NormalizationImpl(const NormalizationOptions& options)
      : LayerOf("Normalization", options, {.can_be_captured = true, .supports_masking = true}),
        given_(options.shape.rank() > 0 || options.mean.size() <= 1
                   ? options.shape
                   : Shape{static_cast<std::int64_t>(options.mean.size())}) {
    require(options.mean.size() == options.variance.size(),
            "Normalization needs as many means as variances, or neither, got {} and {}", options.mean.size(),
            options.variance.size());
    require(are_finite(options.mean) && are_finite(options.variance) &&
                std::ranges::all_of(options.variance, [](double value) { return value >= 0; }),
            "Normalization needs finite means, and variances of at least 0");
    require(options.mean.empty() || given_.elements() == static_cast<std::int64_t>(options.mean.size()),
            "Normalization needs a shape of as many elements as there are means, got {} for {}", given_,
            options.mean.size());
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    const Shape kept = sizes_of(input, kept_axes(input));
    require(broadcasts(given_, kept),
            "Normalization has a mean of {} for axes of the sizes {}, got {}: it needs one number, or as many as the "
            "axes have",
            given_, kept, input);
    if (adapted_) check_adapted(kept, adapted_->mean.shape());
    require(!is_built() || kept == mean_.shape(), "Normalization '{}' was built for axes of the sizes {}, got {}",
            name(), is_built() ? mean_.shape() : Shape(), input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    constexpr double least_deviation = 1e-7;  // keras.backend.epsilon()
    const Tensor mean = beside_kept(mean_.value(), inputs[0]);
    const Tensor deviation = maximum(sqrt(beside_kept(variance_.value(), inputs[0])), least_deviation);
    if (options_.invert) return add(multiply(inputs[0], deviation), mean);
    return divide(subtract(inputs[0], mean), deviation);
  }

  void adapt(const Tensor& data) {
    require<LogicError>(options_.mean.empty(), "Normalization '{}' has the mean and variance given to its constructor",
                        name());
    const ChannelStatistics statistics = statistics_of(data);
    if (is_built()) {
      check_adapted(mean_.shape(), statistics.mean.shape());
      mean_.assign(statistics.mean);
      variance_.assign(statistics.variance);
    } else {
      adapted_ = statistics;
    }
  }

 private:
  /// The axes of a batch of this input that have statistics, sorted.
  std::vector<int> kept_axes(const Shape& input) const {
    return options_.axis.empty() ? std::vector<int>() : axes_of(class_name(), options_.axis, input);
  }

  static Shape sizes_of(const Shape& input, const std::vector<int>& axes) {
    Shape sizes;
    for (const int axis : axes) sizes.push_back(input[axis - 1]);
    return sizes;
  }

  /// Whether numbers of this shape broadcast to the sizes of the axes.
  static bool broadcasts(const Shape& shape, const Shape& sizes) {
    if (shape.rank() > sizes.rank()) return false;
    for (int axis = -1; axis >= -shape.rank(); --axis)
      if (shape.dim(axis) != 1 && shape.dim(axis) != sizes.dim(axis)) return false;
    return true;
  }

  /// A statistic, of the axes' sizes, with axes of size 1 so that it broadcasts to the batch x.
  Tensor beside_kept(const Tensor& statistic, const Tensor& x) const {
    const std::vector<int> axes = kept_axes(without_batch_axis(x.shape()));
    Shape shape;
    for (int axis = axes.empty() ? x.rank() : axes.front(); axis < x.rank(); ++axis)
      shape.push_back(std::ranges::binary_search(axes, axis) ? x.dim(axis) : 1);
    return reshape(statistic, shape);
  }

  ChannelStatistics statistics_of(const Tensor& data) const {
    require(data.defined() && data.rank() >= 1, "Normalization adapts to a batch of inputs, got {}", data);
    const Shape example = without_batch_axis(data.shape());
    const std::vector<int> axes = kept_axes(example);
    const Shape sizes = sizes_of(example, axes);
    Tensor x = data;
    int last = x.rank();
    for (const int axis : axes | std::views::reverse) x = x.transposed_view(axis, --last);
    const std::int64_t channels = sizes.elements();
    x = dense_copy(x);
    const auto [mean, variance] =
        channel_statistics(x.view({x.elements() / std::max<std::int64_t>(1, channels), channels}));
    return {mean.view(sizes), variance.view(sizes)};
  }

  void check_adapted(const Shape& sizes, const Shape& found) const {
    require(sizes == found, "Normalization '{}' takes axes of the sizes {}, adapt() got data of {}", name(), sizes,
            found);
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed&) override {
    const Shape sizes = sizes_of(inputs[0], kept_axes(inputs[0]));
    if (!options_.mean.empty()) {
      mean_ = constant_weight({.name = "mean", .shape = sizes, .initializer = initial(options_.mean, given_)});
      variance_ =
          constant_weight({.name = "variance", .shape = sizes, .initializer = initial(options_.variance, given_)});
      return;
    }
    mean_ = add_statistic("mean", sizes, zeros());
    variance_ = add_statistic("variance", sizes, ones());
    add_statistic("count", {}, zeros());
    if (!adapted_) return;
    mean_.assign(adapted_->mean);
    variance_.assign(adapted_->variance);
  }

  Variable add_statistic(const char* name, const Shape& shape, Initializer initializer) {
    return add_weight({.name = name, .shape = shape, .initializer = std::move(initializer), .trainable = false});
  }

  Shape given_;                                 ///< shape of the given mean and variance
  std::optional<ChannelStatistics> adapted_{};  ///< the result of `adapt` before the layer was built
  Variable mean_;
  Variable variance_;
};

class CategoryEncodingImpl final : public LayerOf<CategoryEncodingOptions> {
 public:
  explicit CategoryEncodingImpl(const CategoryEncodingOptions& options)
      : LayerOf("CategoryEncoding", options, {.can_be_captured = true}) {
    require(options.num_tokens >= 1, "CategoryEncoding needs a num_tokens of at least 1, got {}", options.num_tokens);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs.first(std::min<std::size_t>(inputs.size(), 1)));
    require(input.rank() == 1, "CategoryEncoding takes lists of ids (k), got {}", input);
    require(inputs.size() == 1 ||
                (inputs.size() == 2 && options_.output_mode == CategoryOutput::count && inputs[1] == input),
            "CategoryEncoding takes ids and, with the output_mode count, a weight for each of them, got {}",
            fmt::join(inputs, " and "));
    const bool one_by_one = options_.output_mode == CategoryOutput::one_hot && input[0] != 1;
    return one_by_one ? Shape{input[0], options_.num_tokens} : Shape{options_.num_tokens};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor& ids = inputs[0];
    const Tensor each = one_hot(ids.dtype() == DType::f32 ? cast(ids, DType::i64) : ids, options_.num_tokens);
    if (options_.output_mode == CategoryOutput::one_hot) return ids.dim(1) == 1 ? squeeze(each, {1}) : each;
    const Tensor counts = sum(inputs.size() > 1 ? each * expand_dims(cast(inputs[1], DType::f32), -1) : each, {1});
    return options_.output_mode == CategoryOutput::count ? counts : minimum(counts, 1);
  }
};

}  // namespace

void RescalingLayerOptions::describe(LayerConfig& config) {
  config.one_or_more("scale", scale);
  config.one_or_more("offset", offset);
}

void NormalizationOptions::describe(LayerConfig& config) {
  config.axes("axis", axis);
  Shape of_variance = shape;
  config.numbers("mean", mean, shape);
  config.numbers("variance", variance, of_variance);
  require(of_variance == shape, "Normalization needs a mean and a variance of the same shape, got {} and {}", shape,
          of_variance);
  config.option("invert", invert);
}

void CategoryEncodingOptions::describe(LayerConfig& config) {
  config.option("num_tokens", num_tokens);
  config.choice("output_mode", output_mode,
                {{"one_hot", CategoryOutput::one_hot},
                 {"multi_hot", CategoryOutput::multi_hot},
                 {"count", CategoryOutput::count}});
}

Rescaling::Rescaling(const RescalingLayerOptions& options) : Layer(std::make_shared<RescalingImpl>(options)) {}

Normalization::Normalization(const NormalizationOptions& options)
    : Layer(std::make_shared<NormalizationImpl>(options)) {}

void Normalization::adapt(const Tensor& data) const { static_cast<NormalizationImpl&>(impl()).adapt(data); }

CategoryEncoding::CategoryEncoding(const CategoryEncodingOptions& options)
    : Layer(std::make_shared<CategoryEncodingImpl>(options)) {}

}  // namespace lockstep
