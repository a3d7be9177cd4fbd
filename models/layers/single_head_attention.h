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
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Single-head attention without projections (Luong et al. 2015): query (tq, features), value (tk, dv) and key (tk,
/// features) -> (tq, dv). The second result is the attention weights (tq, tk), the softmax of the scores.
/// ScoreMode::concat needs memory for tq * tk * features elements per example.
///
/// In training, each attention weight is dropped with probability `dropout`; as in Keras, the second result has the
/// attention weights after dropout. The random numbers depend on the model's seed, the layer, the replica and its
/// number of training calls. activity_regularizer applies to the first result and also to the second, if it is used.
///
/// Queries do not attend to keys that the value's mask or the causal mask of a call excludes; a query whose keys are
/// all masked attends to all of them with almost equal weights, as in Keras. Results of masked queries are 0. The key's
/// mask has no effect.
///
/// Trainable weights: if use_scale, a scalar `scale`, the factor of the score or, with ScoreMode::concat, of query +
/// key. With ScoreMode::concat also a scalar `concat_score_weight`, the factor of the score.
struct Attention : AttentionLayer {
  /// Throws InvalidArgument for a dropout outside [0, 1).
  explicit Attention(const AttentionLayerOptions& options = {});
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
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Like Attention, but the scores are the sums of scale * tanh(query + key) over the features (Bahdanau et al. 2015).
/// Needs as much memory as ScoreMode::concat. Trainable weight: `scale` (features) if use_scale.
struct AdditiveAttention : AttentionLayer {
  /// Throws InvalidArgument for a dropout outside [0, 1).
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
};

}  // namespace lockstep
