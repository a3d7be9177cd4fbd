#include "lockstep/models/layers/dropout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

using NoiseShape = std::vector<std::int64_t>;

/// Multiplies its input by a mask of 0 and 1 / (1 - rate) in training.
class MaskImpl : public LayerImpl {
 public:
  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    noise_shape(input.rank() + 1);  // sizes are checked by `call`, since they may be unknown here
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (call.mode == Mode::inference || rate_ == 0) return x;
    const auto next_key = [this] { return draws_.next(); };
    const NoiseShape noise = noise_shape(x.rank());
    for (int axis = x.dim(0) > 0 ? 0 : 1; axis < static_cast<int>(noise.size()); ++axis)
      check_size(noise, axis, x.dim(axis));
    if (std::ranges::count(noise, 1) == 0) return dropout(x, rate_, next_key);
    Shape drawn = x.shape();
    for (int axis = 0; axis < drawn.rank(); ++axis)
      if (noise[static_cast<std::size_t>(axis)] == 1) drawn[axis] = 1;
    return multiply(x, dropout(Tensor::full(drawn, 1, x.dtype()), rate_, next_key));
  }

  RandomDraws* random_draws() override { return &draws_; }

 protected:
  /// `draws_elements`: whether every element of the mask is drawn independently. `supports_masking`: as in LayerTraits.
  MaskImpl(std::string name, double rate, bool draws_elements, bool supports_masking)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true,
                                    .can_be_captured = draws_elements,
                                    .may_return_input = true,
                                    .supports_masking = supports_masking}),
        rate_(static_cast<float>(rate)) {}

  /// Like DropoutOptions::noise_shape, for inputs of this rank, including the batch axis. Throws InvalidArgument for a
  /// rank that the layer does not take.
  virtual NoiseShape noise_shape(int rank) const = 0;

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override { draws_.start(seed.key(0)); }

  /// Throws InvalidArgument unless the mask of this shape broadcasts to inputs of this size along the axis.
  void check_size(const NoiseShape& noise, int axis, std::int64_t size) const {
    const std::int64_t given = noise[static_cast<std::size_t>(axis)];
    require(given == 1 || given == -1 || given == size,
            "{} with the noise_shape ({}) takes {} elements along axis {}, got {}", class_name(),
            fmt::join(noise, ", "), given, axis, size);
  }

  float rate_;
  RandomDraws draws_;
};

class DropoutImpl : public LayerOf<DropoutOptions, MaskImpl> {
 public:
  explicit DropoutImpl(const DropoutOptions& options, const char* class_name = "Dropout")
      : LayerOf(class_name, options, options.rate, options.noise_shape.empty(), true) {
    require(options.rate >= 0 && options.rate < 1, "{} needs a rate of at least 0 and below 1, got {}", class_name,
            options.rate);
    require(std::ranges::all_of(options.noise_shape, [](std::int64_t size) { return size >= 1 || size == -1; }),
            "{} needs a noise_shape of sizes of at least 1 and -1 (None), got ({})", class_name,
            fmt::join(options.noise_shape, ", "));
  }

 private:
  NoiseShape noise_shape(int rank) const override {
    const NoiseShape& noise = options_.noise_shape;
    require(noise.empty() || noise.size() == static_cast<std::size_t>(rank),
            "{} with the noise_shape ({}) takes {} axes, the batch axis included, got {}", class_name_,
            fmt::join(noise, ", "), noise.size(), rank);
    return noise;
  }
};

class AlphaDropoutImpl final : public DropoutImpl {
 public:
  explicit AlphaDropoutImpl(const DropoutOptions& options) : DropoutImpl(options, "AlphaDropout") {}

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const double rate = options_.rate;
    if (call.mode == Mode::inference || rate == 0) return inputs[0];
    constexpr double lowest = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;  // of selu
    const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * lowest * lowest));
    const Tensor above_lowest = inputs[0] - lowest;
    return DropoutImpl::call(std::span(&above_lowest, 1), call) * (scale * (1 - rate)) + scale * lowest * (1 - rate);
  }
};

class SpatialDropoutImpl final : public LayerOf<SpatialDropoutOptions, MaskImpl> {
 public:
  /// `noise`: see DropoutOptions::noise_shape.
  SpatialDropoutImpl(const char* class_name, NoiseShape noise, const SpatialDropoutOptions& options)
      : LayerOf(class_name, options, options.rate, false, true), noise_(std::move(noise)) {
    require(options.rate >= 0 && options.rate < 1, "{} needs a rate of at least 0 and below 1, got {}", class_name,
            options.rate);
  }

 private:
  NoiseShape noise_shape(int rank) const override {
    require(static_cast<std::size_t>(rank) == noise_.size(), "{} takes {} axes, the batch axis included, got {}",
            class_name_, noise_.size(), rank);
    return noise_;
  }

  NoiseShape noise_;
};

/// Base of the layers that draw a normally distributed number for each element in training.
class GaussianImpl : public LayerImpl {
 public:
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }
  RandomDraws* random_draws() override { return &draws_; }

 protected:
  explicit GaussianImpl(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true,
                                    .can_be_captured = true,
                                    .may_return_input = true,
                                    .supports_masking = true}) {}

  Tensor numbers_for(const Tensor& x, double mean, double stddev) {
    return normal(
        x.shape(), mean, stddev, [this] { return draws_.next(); }, x.dtype());
  }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override { draws_.start(seed.key(0)); }

  RandomDraws draws_;
};

class GaussianNoiseImpl final : public LayerOf<GaussianNoiseOptions, GaussianImpl> {
 public:
  explicit GaussianNoiseImpl(const GaussianNoiseOptions& options) : LayerOf("GaussianNoise", options) {
    require(options.stddev >= 0 && options.stddev <= 1, "GaussianNoise needs a stddev from 0 to 1, got {}",
            options.stddev);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (call.mode == Mode::inference || options_.stddev == 0) return x;
    return x + numbers_for(x, 0, options_.stddev);
  }
};

class GaussianDropoutImpl final : public LayerOf<GaussianDropoutOptions, GaussianImpl> {
 public:
  explicit GaussianDropoutImpl(const GaussianDropoutOptions& options) : LayerOf("GaussianDropout", options) {
    require(options.rate >= 0 && options.rate < 1, "GaussianDropout needs a rate of at least 0 and below 1, got {}",
            options.rate);
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& x = inputs[0];
    if (call.mode == Mode::inference || options_.rate == 0) return x;
    return x * numbers_for(x, 1, std::sqrt(options_.rate / (1 - options_.rate)));
  }
};

class StochasticDepthImpl final : public LayerOf<StochasticDepthOptions, MaskImpl> {
 public:
  explicit StochasticDepthImpl(const StochasticDepthOptions& options)
      : LayerOf("StochasticDepth", options, options.drop_path_rate, false, false) {
    require(options.drop_path_rate >= 0 && options.drop_path_rate < 1,
            "StochasticDepth needs a drop_path_rate of at least 0 and below 1, got {}", options.drop_path_rate);
  }

  void describe(LayerConfig& config) const override {
    config.of_applications("keras.src.applications.convnext");
    LayerOf::describe(config);
  }

 private:
  NoiseShape noise_shape(int rank) const override {
    NoiseShape noise(static_cast<std::size_t>(rank), 1);
    noise.front() = -1;
    return noise;
  }
};

}  // namespace

void DropoutOptions::describe(LayerConfig& config) {
  config.option("rate", rate);
  config.noise_shape("noise_shape", noise_shape);
  config.passed_over("seed");
}

void SpatialDropoutOptions::describe(LayerConfig& config) {
  config.without_trainable();
  config.option("rate", rate);
  config.passed_over("seed");
  if (config.class_name() == "SpatialDropout2D") config.channels_last();  // the 1D layer has no data_format in Keras
}

void GaussianNoiseOptions::describe(LayerConfig& config) {
  config.option("stddev", stddev);
  config.passed_over("seed");
}

void GaussianDropoutOptions::describe(LayerConfig& config) {
  config.option("rate", rate);
  config.passed_over("seed");
}

void StochasticDepthOptions::describe(LayerConfig& config) { config.option("drop_path_rate", drop_path_rate); }

Dropout::Dropout(const DropoutOptions& options) : Layer(std::make_shared<DropoutImpl>(options)) {}

AlphaDropout::AlphaDropout(const DropoutOptions& options) : Layer(std::make_shared<AlphaDropoutImpl>(options)) {}

SpatialDropout1D::SpatialDropout1D(const SpatialDropoutOptions& options)
    : Layer(std::make_shared<SpatialDropoutImpl>("SpatialDropout1D", NoiseShape{-1, 1, -1}, options)) {}

SpatialDropout2D::SpatialDropout2D(const SpatialDropoutOptions& options)
    : Layer(std::make_shared<SpatialDropoutImpl>("SpatialDropout2D", NoiseShape{-1, 1, 1, -1}, options)) {}

GaussianNoise::GaussianNoise(const GaussianNoiseOptions& options)
    : Layer(std::make_shared<GaussianNoiseImpl>(options)) {}

GaussianDropout::GaussianDropout(const GaussianDropoutOptions& options)
    : Layer(std::make_shared<GaussianDropoutImpl>(options)) {}

StochasticDepth::StochasticDepth(const StochasticDepthOptions& options)
    : Layer(std::make_shared<StochasticDepthImpl>(options)) {}

}  // namespace lockstep
