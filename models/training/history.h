#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// Keras' History: the logs at the end of each epoch.
struct History {
  /// Numbers of the epochs, from 0.
  std::vector<int> epoch;
  /// "loss", "learning_rate", "epoch_s", ...: one value for each epoch. "val_loss", ...: one value for each epoch that
  /// ended with validation.
  std::map<std::string, std::vector<double>> values;
};

}  // namespace lockstep
