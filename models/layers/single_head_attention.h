#pragma once

#include <string>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {

/// How Attention computes the score of a query and a key.
enum class ScoreMode {
  dot,    ///< their product
  concat  ///< the sum of tanh(query + key)
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

/// Attention of one head without projections (Luong et al. 2015): query (tq, features), value (tk, dv) and key (tk,
/// features) -> (tq, dv), with weights (tq, tk) as the second result. The weights are the softmax of the scores, of
/// which ScoreMode::concat stores the terms, tq * tk * features numbers. In training, drops weights with probability
/// `dropout`, also in the second result, as in Keras; the choice is made as in MultiHeadAttention. The value's mask
/// hides keys, results of masked queries are 0, and the key's mask has no effect.
///
/// Weights: `scale` () if use_scale, a factor of the score or, with ScoreMode::concat, of query + key; then
/// `concat_score_weight` () with ScoreMode::concat, a factor of the score.
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

/// Attention whose scores are the sums of scale * tanh(query + key) (Bahdanau et al. 2015). Weights: `scale` (features)
/// if use_scale.
struct AdditiveAttention : AttentionLayer {
  /// Throws InvalidArgument for a dropout outside [0, 1).
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
  /// Makes the layer from the options in a file.
  static AdditiveAttention from_config(LayerConfig& config);
};

}  // namespace lockstep
