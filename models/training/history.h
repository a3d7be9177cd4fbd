#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// Keras' History: the logs at the end of each epoch.
struct History {
  /// Numbers of the epochs, from 0.
  std::vector<int> epoch;
  /// "loss", "learning_rate", "epoch_s", ... by epoch; "val_loss", ... by epoch with validation.
  std::map<std::string, std::vector<double>> values;
};

}  // namespace lockstep
