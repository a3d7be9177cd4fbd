#pragma once

#include <string>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// ActivityRegularization's options.
struct ActivityRegularizationOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  double l1 = 0;
  double l2 = 0;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Returns its input x, and adds (l1 * sum(|x|) + l2 * sum(x^2)) / (number of examples) to the model's loss, like an
/// `activity_regularizer` of the layer that computes x.
struct ActivityRegularization : Layer {
  /// Throws InvalidArgument for a negative factor.
  explicit ActivityRegularization(const ActivityRegularizationOptions& options);
};

}  // namespace lockstep
