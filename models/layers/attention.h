#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

struct AttentionCall;

/// MultiHeadAttention's options.
struct MultiHeadAttentionOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;
  std::optional<std::int64_t> value_dim{};
  double dropout = 0;
  bool use_bias = true;
  std::optional<Shape> output_shape{};
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
};

/// Attention of several heads (Vaswani et al. 2017): projects query (tq, features), value and key (tk, features) to
/// heads, computes scaled_dot_product_attention of the heads, and projects the result to (tq, output_shape). The
/// default output_shape is the query's number of features. In training, drops attention weights with probability
/// `dropout`. Like Dropout's mask, the choice depends on the model's seed, the layer, the replica and its number of
/// calls in training. Weights: kernel (features, heads, size) and bias (heads, size) of query, key and value, then
/// kernel (heads, size, output_shape) and bias (output_shape) of attention_output.
struct MultiHeadAttention : Layer {
  /// Throws InvalidArgument for sizes below 1, and for a dropout outside [0, 1).
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);
  /// Makes the layer from the options in a file.
  static MultiHeadAttention from_config(LayerConfig& config);
  using Layer::operator();
  ///@{
  /// Describes a call, like Layer's operator(). `call` holds further arguments (models/graph/attention_call.h). Throws
  /// InvalidArgument for shapes that do not fit.
  Symbol operator()(const Symbol& query, const Symbol& value) const;
  Symbol operator()(const Symbol& query, const Symbol& value, const AttentionCall& call) const;
  ///@}
};

/// GroupQueryAttention's options.
struct GroupQueryAttentionOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t head_dim = 0;
  std::int64_t num_query_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double dropout = 0;
  bool use_bias = true;
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  std::string name{};
  ///@}
};

/// MultiHeadAttention with fewer heads of keys and values than of queries (Ainslie et al. 2023): num_query_heads /
/// num_key_value_heads neighboring heads of the query share one head of keys and values. The result has the query's
/// number of features.
struct GroupQueryAttention : Layer {
  /// Throws InvalidArgument for sizes below 1, for a dropout outside [0, 1), and if num_query_heads is not a multiple
  /// of num_key_value_heads.
  explicit GroupQueryAttention(const GroupQueryAttentionOptions& options);
  /// Makes the layer from the options in a file.
  static GroupQueryAttention from_config(LayerConfig& config);
  using Layer::operator();
  ///@{
  /// Same as MultiHeadAttention's operator().
  Symbol operator()(const Symbol& query, const Symbol& value) const;
  Symbol operator()(const Symbol& query, const Symbol& value, const AttentionCall& call) const;
  ///@}
};

/// Whether `class_name` is Keras' name of one of the classes above, whose calls have several arguments.
bool is_attention(std::string_view class_name);

}  // namespace lockstep
