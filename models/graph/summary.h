#pragma once

#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

/// The title of the table, and the model's inputs, which are the first rows of the table.
struct SummaryHead {
  std::string name;                  ///< name of the model
  std::vector<NetworkInput> inputs;  ///< one InputLayer row each
};

/// The text of Keras' `model.summary()`: a table of the layers, in the order of `layers`, and the numbers of
/// parameters.
std::string summary_table(const SummaryHead& head, const std::vector<GraphCall>& calls,
                          const std::vector<Layer>& layers);

}  // namespace lockstep
