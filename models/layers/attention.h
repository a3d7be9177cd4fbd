#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

struct AttentionCall;

/// A handle to an attention layer. A call takes a query and a value, and optionally a key and a mask. As with Keras'
/// `return_attention_scores`, the first result is the output and the second the attention weights. MultiHeadAttention
/// and GroupQueryAttention store the attention weights of all queries and keys only for calls whose second result is
/// used; Attention and AdditiveAttention always store them.
struct AttentionLayer : Layer {
  using Layer::Layer;
  using Layer::operator();
  using Layer::results;
  ///@{
  /// Describe a call, like Layer's operator() and results(). `call` holds the other arguments
  /// (models/graph/attention_call.h). Throw InvalidArgument for shapes that do not have the form described at the
  /// layer's class or at AttentionCall.
  Symbol operator()(const Symbol& query, const Symbol& value) const;
  Symbol operator()(const Symbol& query, const Symbol& value, const AttentionCall& call) const;
  std::vector<Symbol> results(const Symbol& query, const Symbol& value, const AttentionCall& call) const;
  ///@}
};

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
  /// Numbers of the axes along which queries attend to keys. Axis 0 is the batch axis; negative numbers count from the
  /// end. Empty: all axes between the batch axis and the features.
  std::vector<int> attention_axes{};
  std::optional<int> sliding_window{};
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  bool use_gate = false;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Multi-head attention (Vaswani et al. 2017): projects query (tq, features), value and key (tk, features) to heads,
/// computes dot_product_attention of the heads, and projects the result to (tq, output_shape). The default
/// output_shape is the query's number of features. The inputs may have several axes in place of tq and tk. Queries then
/// attend to keys along `attention_axes`; along the other axes, query and key must have the same sizes. The attention
/// weights (the second result) have the shape (other axes, heads, attention_axes of the query, attention_axes of the
/// key).
///
/// As in Keras, a query whose keys are all masked gives all keys the weight 0 if the call's attention weights are used,
/// if the layer has a `dropout` above 0, or if the inputs have several axes in place of tq and tk. Otherwise it gives
/// all keys the same weight. A `sliding_window`, inputs with masks and calls with `use_causal_mask` need exactly one
/// attention axis.
///
/// In training, drops attention weights with probability `dropout`; the second result has the weights before dropout.
/// The random numbers depend on the model's seed, the layer, the replica and the replica's number of training calls.
/// With `sliding_window`, query i attends to key j only if |i - j| < sliding_window. `use_gate` multiplies the heads'
/// results by the sigmoid of another projection of the query (Qiu et al. 2025). `activity_regularizer` applies to the
/// result of each projection.
///
/// Weights: kernel (features, heads, size) and bias (heads, size) of query, key, gate (if used) and value, then kernel
/// (heads, size, output_shape) and bias (output_shape) of attention_output.
struct MultiHeadAttention : AttentionLayer {
  /// Throws InvalidArgument for sizes and a sliding_window below 1, for an output_shape without axes, and for a dropout
  /// outside [0, 1).
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);
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
  std::optional<int> sliding_window{};
  SeededInitializer kernel_initializer = glorot_uniform;
  SeededInitializer bias_initializer = zeros;
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Regularizer activity_regularizer{};
  Constraint kernel_constraint{};
  Constraint bias_constraint{};
  bool use_gate = false;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// MultiHeadAttention with fewer key and value heads than query heads (Ainslie et al. 2023): num_query_heads /
/// num_key_value_heads neighboring query heads share one key head and one value head. Query, value and key are
/// sequences (time, features). The result has the query's number of features. As in Keras, `activity_regularizer`
/// applies to the results of the projections, to the layer's output and, if they are used, to the attention weights.
struct GroupQueryAttention : AttentionLayer {
  /// Throws InvalidArgument for sizes and a sliding_window below 1, for a dropout outside [0, 1), and if
  /// num_query_heads is not a multiple of num_key_value_heads.
  explicit GroupQueryAttention(const GroupQueryAttentionOptions& options);
};

/// Whether `class_name` is "MultiHeadAttention", "GroupQueryAttention", "Attention" or "AdditiveAttention".
bool is_attention(std::string_view class_name);
/// Throws InvalidArgument if `layer` is a MultiHeadAttention that has several attention axes for a query of this shape
/// (without the batch axis): such a layer cannot be called with use_causal_mask.
void check_causal_call(const LayerImpl& layer, const Shape& query);
/// Whether `class_name` is "MultiHeadAttention" or "GroupQueryAttention". In Keras, a call of these layers takes the
/// inputs as separate arguments; a call of the other attention layers takes a list.
bool is_multi_head_attention(std::string_view class_name);

}  // namespace lockstep
