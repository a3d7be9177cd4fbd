#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// Keras' History: the logs at the end of each epoch.
struct History {
  /// Numbers of the epochs, from 0.
  std::vector<int> epoch;
  std::map<std::string, std::vector<double>> values;  ///< "loss", "val_loss", "learning_rate", "epoch_s", ... by epoch
};

}  // namespace lockstep
