#pragma once

#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

/// The head of the table, and the rows of the inputs.
struct SummaryHead {
  std::string name;  ///< of the model
  /// The model's, in their order.
  std::vector<NetworkInput> inputs;
};

/// Keras' table of a model, and the totals of its parameters.
std::string summary_table(const SummaryHead& head, const std::vector<GraphCall>& calls,
                          const std::vector<Layer>& layers);

}  // namespace lockstep
