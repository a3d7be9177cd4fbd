#include "lockstep/models/layers/batch_normalization.h"

#include <optional>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/over_axes.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/scaled_normalization.h>
#include <lockstep/models/layers/statistic_updates.h>
#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

/// The weight of the calling replica's statistics in the mean over replicas: 1 if all replicas have the same number of
/// rows; nullopt if no replica has rows.
std::optional<double> weight_of(const BatchNormResult& result, bool synchronized) try {
  const int replicas = current_context().replicas_in_sync;
  if (synchronized || replicas == 1) return result.rows > 0 ? std::optional(1.0) : std::nullopt;
  double own = 0;
  double all = 0;
  if (const std::optional<BatchRows>& batch = current_batch_rows()) {
    own = result.rows > 0 ? static_cast<double>(batch->own) : 0;
    all = static_cast<double>(batch->all);
  } else {  // no distributed batch: the replicas add up their numbers of rows
    own = static_cast<double>(result.rows);
    all = get_replica_context().all_reduce(ReduceOp::sum, own).item<double>();
  }
  return all > 0 ? std::optional(own * replicas / all) : std::nullopt;
} catch (Error& error) {
  rethrow_from("batch_norm", error);
}

/// Like batch_norm, but the statistics count only elements for which `mask`, (n, ...) for x (n, ..., c), is true. If
/// `synchronized`, they count the elements of all replicas. As in Keras, sums are divided by the number of elements +
/// 1e-7.
BatchNormResult masked_batch_norm(const Tensor& x, const Tensor& mask, const Tensor& gamma, const Tensor& beta,
                                  const BatchNormOptions& options, bool synchronized) {
  require(mask.rank() == x.rank() - 1,
          "BatchNormalization takes a mask with all axes of its input but the last, got {}", mask);
  const auto over_replicas = [&](const std::vector<Tensor>& own) {
    return synchronized ? get_replica_context().all_reduce(ReduceOp::sum, own) : own;
  };
  const std::vector<int> axes = all_axes(mask);
  const Tensor wide = cast(x, DType::f32);
  const Tensor kept = expand_dims(mask, -1);
  const Tensor elements = Tensor::full({}, static_cast<double>(mask.elements()));
  const std::vector<Tensor> sums =
      over_replicas({sum(where(kept, wide, 0), axes), sum(cast(mask, DType::f32)), elements});
  const Tensor number = sums[1] + 1e-7;
  const Tensor mean = sums[0] / number;
  const Tensor difference = wide - mean;
  const Tensor variance = over_replicas({sum(where(kept, square(difference), 0), axes)}).front() / number;
  const Tensor y = difference * (gamma * rsqrt(variance + static_cast<double>(options.epsilon))) + beta;
  const Tensor activated = options.relu ? relu(y) : y;
  return {.y = cast(activated, x.dtype()),
          .mean = stop_gradient(mean),
          .variance = stop_gradient(variance),
          .rows = static_cast<std::int64_t>(sums[2].item<float>())};
}

/// Updates a moving statistic with the statistic of a batch. If the replicas share one copy, each assigns its updated
/// value, and the assignment averages the values.
void update_statistic(const Variable& statistic, const Tensor& of_rows, double weight, double momentum) {
  const std::vector<Tensor>& copies = statistic.state().copies();
  const ExecutionContext& context = current_context();
  if (copies.size() == 1 && context.replicas > 1) {
    const Tensor next = Tensor::empty(statistic.shape());
    copy(copies.front(), next);
    const NoGradientScope not_recorded;
    update_moving_averages({{next, weight == 1 ? of_rows : of_rows * weight, static_cast<float>(momentum)}});
    return statistic.assign(next);
  }
  StatisticUpdates::add({statistic, of_rows, weight, momentum});
}

class BatchNormalizationImpl final : public ScaledNormalizationImpl<BatchNormalizationOptions> {
 public:
  explicit BatchNormalizationImpl(const BatchNormalizationOptions& options)
      : ScaledNormalizationImpl("BatchNormalization", options,
                                {.can_fuse_relu = true,
                                 .can_fuse_add = true,
                                 .can_write_to = true,
                                 .channel_axis = options.axis,
                                 .can_compute_in_bf16 = true,
                                 .can_be_captured = !options.synchronized,
                                 .supports_masking = true}),
        epsilon_(static_cast<float>(options.epsilon)) {
    require(options.momentum >= 0 && options.momentum <= 1,
            "BatchNormalization needs a momentum between 0 and 1, got {}", options.momentum);
    require(options.epsilon > 0, "BatchNormalization needs an epsilon above 0, got {}", options.epsilon);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 1, "BatchNormalization needs a channel axis, got {}", input);
    const std::int64_t channels = channels_of(input);
    require(!is_built() || channels == gamma_.shape()[0], "BatchNormalization '{}' was built for {} channels, got {}",
            name(), is_built() ? gamma_.shape()[0] : 0, input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    if (options_.axis == -1 || options_.axis == inputs[0].rank() - 1) return normalized(inputs, call);
    require<Unsupported>(
        call.mode == Mode::inference || !trainable() || !call.mask(0).defined(),
        "BatchNormalization trains on masked sequences only along the last axis: set axis to -1, or freeze "
        "the layer");
    const Tensor x = moveaxis(inputs[0], options_.axis, -1);
    return moveaxis(normalized(std::span(&x, 1), call), -1, options_.axis);
  }

 private:
  std::int64_t channels_of(const Shape& input) const {
    return input[axes_of(class_name(), {options_.axis}, input).front() - 1];
  }

  /// For inputs with the channels along the last axis.
  Tensor normalized(std::span<const Tensor> inputs, const LayerCall& call) {
    const Tensor& x = inputs[0];
    if (inputs.size() > 1 && inputs[1].shape() != x.shape()) return broadcast_sum(inputs, call);
    BatchNormOptions options{.epsilon = epsilon_, .relu = call.fused_relu, .out = call.out};
    if (inputs.size() > 1) options.residual = inputs[1];
    if (call.mode == Mode::inference || !trainable())
      return batch_norm_inference(x, gamma_.value(), beta_.value(), statistic(moving_mean_, x),
                                  statistic(moving_variance_, x), options);
    const Tensor mask = call.mask(0);
    const bool gathers = options_.synchronized && current_context().replicas_in_sync > 1;
    if (gathers)
      options.gather = [context = get_replica_context()](const Tensor& own) { return context.all_gather(own, 0); };
    const BatchNormResult result = mask.defined()
                                       ? masked_batch_norm(x, mask, gamma_.value(), beta_.value(), options, gathers)
                                       : batch_norm(x, gamma_.value(), beta_.value(), options);
    if (is_recomputing()) return result.y;  // perhaps not on all replicas: no further collectives
    if (const std::optional<double> weight = weight_of(result, options_.synchronized)) {
      update_statistic(moving_mean_, result.mean, *weight, options_.momentum);
      update_statistic(moving_variance_, result.variance, *weight, options_.momentum);
    }
    return result.y;
  }

  /// A moving statistic. Later calls in Mode::train may change it before tapes compute gradients, so they get a copy.
  Tensor statistic(const Variable& moving, const Tensor& x) const {
    if (!trainable() || !recording({x, gamma_.value(), beta_.value()})) return moving.value();
    const Tensor kept = Tensor::empty(moving.shape());
    copy(moving.value(), kept);
    return kept;
  }

  /// The fused sum with a term of another shape, which can occur where the plan has unknown sizes.
  Tensor broadcast_sum(std::span<const Tensor> inputs, LayerCall call) {
    const bool fused_relu = std::exchange(call.fused_relu, false);
    const Tensor y = normalized(inputs.first(1), call) + inputs[1];
    return fused_relu ? relu(y) : y;
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const Shape channels{channels_of(inputs[0])};
    make_gamma_and_beta(channels, seed);
    moving_mean_ = add_statistic("moving_mean", channels, options_.moving_mean_initializer(seed.key(2)));
    moving_variance_ = add_statistic("moving_variance", channels, options_.moving_variance_initializer(seed.key(3)));
  }

  Variable add_statistic(const char* name, const Shape& shape, Initializer initializer) {
    return add_weight({.name = name,
                       .shape = shape,
                       .initializer = std::move(initializer),
                       .trainable = false,
                       .synchronization = Synchronization::on_read,
                       .aggregation = Aggregation::mean});
  }

  float epsilon_;
  Variable moving_mean_;
  Variable moving_variance_;
};

}  // namespace

void BatchNormalizationOptions::describe(LayerConfig& config) {
  config.axis("axis", axis);
  config.option("momentum", momentum);
  config.option("epsilon", epsilon);
  config.option("center", center);
  config.option("scale", scale);
  config.option("beta_initializer", beta_initializer);
  config.option("gamma_initializer", gamma_initializer);
  config.option("moving_mean_initializer", moving_mean_initializer);
  config.option("moving_variance_initializer", moving_variance_initializer);
  config.option("beta_regularizer", beta_regularizer);
  config.option("gamma_regularizer", gamma_regularizer);
  config.option("beta_constraint", beta_constraint);
  config.option("gamma_constraint", gamma_constraint);
  config.option("synchronized", synchronized);
  config.passed_over("renorm_momentum");  // for renorm, an option of Keras 2, which is not supported
}

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer(std::make_shared<BatchNormalizationImpl>(options)) {}

}  // namespace lockstep
