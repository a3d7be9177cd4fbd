#pragma once

#include <cstdint>
#include <string>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Embedding's options, by Keras' names.
struct EmbeddingOptions {
  std::int64_t input_dim = 0;   ///< number of ids
  std::int64_t output_dim = 0;  ///< length of an id's vector
  /// Of the table.
  SeededInitializer embeddings_initializer = random_uniform();
  Regularizer embeddings_regularizer{};  ///< makes the gradient dense, as it reads every row
  Constraint embeddings_constraint{};    ///< applied to every row, whether it was looked up or not
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};

/// Keras' Embedding: ids of any shape, also as f32 (Keras truncates them), to (shape of ids,
/// output_dim). One weight, embeddings (input_dim, output_dim). Its gradient has only the looked-up rows, which
/// optimizers exchange and apply as rows.
struct Embedding : Layer {
  /// Throws InvalidArgument for sizes below 1.
  explicit Embedding(const EmbeddingOptions& options);
  /// From a file's options.
  static Embedding from_config(LayerConfig& config);
};

}  // namespace lockstep
