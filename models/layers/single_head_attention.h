#pragma once

#include <string>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {

/// How Attention computes the score of a query and a key.
enum class ScoreMode {
  dot,    ///< their dot product
  concat  ///< the sum of tanh(query + key) over the features
};

/// Attention's options.
struct AttentionLayerOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  bool use_scale = false;
  ScoreMode score_mode = ScoreMode::dot;
  double dropout = 0;
  Regularizer activity_regularizer{};
  std::string name{};
  ///@}
};

/// Single-head attention without projections (Luong et al. 2015): query (tq, features), value (tk, dv) and key (tk,
/// features) -> (tq, dv). The second result has the attention weights (tq, tk), the softmax of the scores.
/// ScoreMode::concat needs memory for tq * tk * features numbers. In training, drops weights with probability
/// `dropout`, also in the second result, as in Keras; the choice depends on the same values as in MultiHeadAttention.
/// Queries do not attend to keys that the value's mask excludes. Results of masked queries are 0. The key's mask has no
/// effect.
///
/// Weights: if use_scale, `scale` (), which multiplies the score or, with ScoreMode::concat, query + key. With
/// ScoreMode::concat also `concat_score_weight` (), which multiplies the score.
struct Attention : AttentionLayer {
  /// Throws InvalidArgument for a dropout outside [0, 1).
  explicit Attention(const AttentionLayerOptions& options = {});
  /// Makes the layer from the options in a file.
  static Attention from_config(LayerConfig& config);
};

/// AdditiveAttention's options.
struct AdditiveAttentionOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  bool use_scale = true;
  double dropout = 0;
  Regularizer activity_regularizer{};
  std::string name{};
  ///@}
};

/// Attention whose scores are the sums of scale * tanh(query + key) over the features (Bahdanau et al. 2015). Weights:
/// `scale` (features) if use_scale.
struct AdditiveAttention : AttentionLayer {
  /// Throws InvalidArgument for a dropout outside [0, 1).
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
  /// Makes the layer from the options in a file.
  static AdditiveAttention from_config(LayerConfig& config);
};

}  // namespace lockstep
