#include "lockstep/models/layers/single_head_attention.h"

#include <memory>
#include <vector>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/attention/composed_attention.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

/// Lists the options; only Attention has a score_mode.
template <class Options>
void list_single_head(LayerConfig& config, Options& options) {
  config.option("use_scale", options.use_scale);
  if constexpr (requires { options.score_mode; })
    config.choice("score_mode", options.score_mode, {{"dot", ScoreMode::dot}, {"concat", ScoreMode::concat}});
  config.option("dropout", options.dropout);
  config.option("activity_regularizer", options.activity_regularizer);
  config.passed_over("seed");
}

/// query + key for each pair: (n, tq, features) and (n, tk, features) -> (n, tq, tk, features).
Tensor sums_of_pairs(const Tensor& query, const Tensor& key) { return expand_dims(query, 2) + expand_dims(key, 1); }

/// The inputs are query, value and, if given, key.
template <class Options>
class SingleHeadImpl : public LayerOf<Options> {
  using Base = LayerOf<Options>;

 public:
  SingleHeadImpl(const char* class_name, const Options& options)
      : Base(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}) {
    require(options.dropout >= 0 && options.dropout < 1, "{} needs a dropout of at least 0 and below 1, got {}",
            class_name, options.dropout);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() == 2 || inputs.size() == 3,
            "{} is called with a query, a value, and perhaps a key, got {} inputs; it masks by the masks of query and "
            "value, and takes no attention_mask",
            class_name_, inputs.size());
    const Shape& query = inputs[0];
    const Shape& value = inputs[1];
    const Shape& key = inputs.back();
    require(query.rank() == 2 && value.rank() == 2 && key.rank() == 2,
            "{} takes sequences (time, features), got query {}, value {}, key {}", class_name_, query, value, key);
    require(value[0] == key[0], "{} needs a key for each value, got value {} and key {}", class_name_, value, key);
    require(query[1] == key[1], "{} needs query and key of the same number of features, got {} and {}", class_name_,
            query, key);
    require(!scale_.defined() || scale_.shape().rank() == 0 || query[1] == scale_.shape()[0],
            "{} '{}' was built for queries {} wide, got {}", class_name_, this->name(),
            scale_.defined() ? scale_.shape() : Shape(), query);
    return {query[0], value[1]};
  }

  std::vector<Shape> more_output_shapes(std::span<const Shape> inputs) const override {
    output_shape(inputs);  // checks them
    return {{inputs[0][0], inputs[1][0]}};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& query = inputs[0];
    Tensor scores = cast(scores_of(query, inputs.back()), DType::f32);
    constexpr double hidden = 1e9;  // Keras' number: a query whose keys are all masked keeps almost equal scores
    if (const Tensor mask = mask_of_scores(scores, call); mask.defined()) scores = where(mask, scores, scores - hidden);
    Tensor weights = cast(softmax(scores), query.dtype());
    if (call.mode == Mode::train)
      weights = dropout(weights, static_cast<float>(options_.dropout), [this] { return draws_.next(); });
    Tensor result = matmul(weights, inputs[1]);
    if (const Tensor of_query = call.mask(0); of_query.defined()) result = where(expand_dims(of_query, 2), result, 0);
    if (call.more_results != nullptr) *call.more_results = {penalized(call, options_.activity_regularizer, weights)};
    return penalized(call, options_.activity_regularizer, result);
  }

  RandomDraws* random_draws() override { return options_.dropout > 0 ? &draws_ : nullptr; }

 protected:
  using Base::options_;
  /// The weight `scale` in the dtype of x; undefined if there is none.
  Tensor scale_for(const Tensor& x) const { return scale_.defined() ? cast(scale_.value(), x.dtype()) : Tensor(); }
  void make_scale(const Shape& shape, const SeededInitializer& initializer, const LayerSeed& seed) {
    draws_.start(seed.key(2));
    if (options_.use_scale)
      scale_ = this->add_weight({.name = "scale", .shape = shape, .initializer = initializer(seed.key(0))});
  }

 private:
  /// The scores (n, tq, tk) of query (n, tq, features) and key (n, tk, features).
  virtual Tensor scores_of(const Tensor& query, const Tensor& key) const = 0;

  /// Where the value's mask and, in a causal call, the order let a query attend to a key; undefined if everywhere.
  static Tensor mask_of_scores(const Tensor& scores, const LayerCall& call) {
    const Tensor of_value = call.mask(1).defined() ? expand_dims(call.mask(1), 1) : Tensor();
    if (!call.use_causal_mask) return of_value;
    const Tensor causal = causal_mask(scores.dim(1), scores.dim(2));
    return of_value.defined() ? logical_and(of_value, causal) : causal;
  }

  using Base::class_name_;

  Variable scale_;
  RandomDraws draws_;
};

class DotAttentionImpl final : public SingleHeadImpl<AttentionLayerOptions> {
 public:
  explicit DotAttentionImpl(const AttentionLayerOptions& options) : SingleHeadImpl("Attention", options) {}

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override {
    make_scale({}, ones, seed);
    if (options_.score_mode == ScoreMode::concat)
      weight_ = add_weight({.name = "concat_score_weight", .shape = {}, .initializer = ones(seed.key(1))});
  }

  Tensor scores_of(const Tensor& query, const Tensor& key) const override {
    const Tensor scale = scale_for(query);
    if (options_.score_mode == ScoreMode::dot) {
      const Tensor scores = matmul(query, swapaxes(key, 1, 2));
      return scale.defined() ? scores * scale : scores;
    }
    const Tensor pairs = sums_of_pairs(query, key);
    return sum(tanh(scale.defined() ? pairs * scale : pairs), {-1}) * cast(weight_.value(), query.dtype());
  }

  Variable weight_;
};

class AdditiveAttentionImpl final : public SingleHeadImpl<AdditiveAttentionOptions> {
 public:
  explicit AdditiveAttentionImpl(const AdditiveAttentionOptions& options)
      : SingleHeadImpl("AdditiveAttention", options) {}

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    make_scale({inputs[0][1]}, glorot_uniform, seed);
  }

  Tensor scores_of(const Tensor& query, const Tensor& key) const override {
    const Tensor terms = tanh(sums_of_pairs(query, key));
    const Tensor scale = scale_for(query);
    return sum(scale.defined() ? terms * scale : terms, {-1});
  }
};

}  // namespace

void AttentionLayerOptions::describe(LayerConfig& config) { list_single_head(config, *this); }

void AdditiveAttentionOptions::describe(LayerConfig& config) { list_single_head(config, *this); }

Attention::Attention(const AttentionLayerOptions& options)
    : AttentionLayer(std::make_shared<DotAttentionImpl>(options)) {}

AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : AttentionLayer(std::make_shared<AdditiveAttentionImpl>(options)) {}

}  // namespace lockstep
