#pragma once

#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

struct SummaryHead {
  std::string name;  ///< of the model
  std::vector<NetworkInput> inputs;
};

/// Keras' table of a model, and the totals of its parameters.
std::string summary_table(const SummaryHead& head, const std::vector<GraphCall>& calls,
                          const std::vector<Layer>& layers);

}  // namespace lockstep
