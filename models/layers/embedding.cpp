#include "lockstep/models/layers/embedding.h"

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class EmbeddingImpl final : public LayerOf<EmbeddingOptions> {
 public:
  explicit EmbeddingImpl(const EmbeddingOptions& options)
      : LayerOf("Embedding", options,
                {.looks_up_rows = true, .supports_masking = options.mask_zero, .makes_masks = options.mask_zero}) {
    require(options.input_dim >= 1 && options.output_dim >= 1,
            "Embedding needs an input_dim and an output_dim of at least 1, got {} and {}", options.input_dim,
            options.output_dim);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    Shape shape = only_input(class_name(), inputs);
    shape.push_back(options_.output_dim);
    return shape;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor& ids = inputs[0];
    return penalized(call, options_.activity_regularizer,
                     embedding_lookup(embeddings_.value(), ids.dtype() == DType::f32 ? cast(ids, DType::i64) : ids));
  }

  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor>) const override {
    return not_equal(inputs[0], 0);
  }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override {
    embeddings_ = add_weight({.name = "embeddings",
                              .shape = {options_.input_dim, options_.output_dim},
                              .initializer = options_.embeddings_initializer(seed.key(0))},
                             options_.embeddings_regularizer, options_.embeddings_constraint);
  }

  Variable embeddings_;
};

}  // namespace

void EmbeddingOptions::describe(LayerConfig& config) {
  config.option("input_dim", input_dim);
  config.option("output_dim", output_dim);
  config.option("embeddings_initializer", embeddings_initializer);
  config.option("embeddings_regularizer", embeddings_regularizer);
  config.option("activity_regularizer", activity_regularizer);
  config.option("embeddings_constraint", embeddings_constraint);
  config.option("mask_zero", mask_zero);
  config.passed_over("input_length");  // an option of Keras 2; the input has its length
}

Embedding::Embedding(const EmbeddingOptions& options) : Layer(std::make_shared<EmbeddingImpl>(options)) {}

}  // namespace lockstep
