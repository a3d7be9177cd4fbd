#pragma once

#include <cstdint>
#include <string>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Embedding's options, with Keras' names.
struct EmbeddingOptions {
  std::int64_t input_dim = 0;   ///< number of ids; ids are 0 to input_dim - 1
  std::int64_t output_dim = 0;  ///< length of an id's vector
  /// Initializer of the table of vectors.
  SeededInitializer embeddings_initializer = random_uniform();
  Regularizer embeddings_regularizer{};  ///< makes the gradient dense: the penalty covers every row
  Regularizer activity_regularizer{};    ///< penalty on the result
  Constraint embeddings_constraint{};    ///< applied to every row, including rows that were not looked up
  bool mask_zero = false;                ///< the result has a mask that is false where the id is 0
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Keras' Embedding: ids (...) -> (..., output_dim). Ids of f32 are truncated to integers, as in Keras. Weight:
/// embeddings (input_dim, output_dim). Its gradient is sparse, with only the looked-up rows; see Optimizer::minimize
/// for how replicas exchange it.
struct Embedding : Layer {
  /// Throws InvalidArgument for sizes below 1. A call throws it for an id outside [0, input_dim), in the way described
  /// at embedding_lookup.
  explicit Embedding(const EmbeddingOptions& options);
};

}  // namespace lockstep
