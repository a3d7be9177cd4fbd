#pragma once

#include <string>
#include <vector>

#include <lockstep/models/graph/plan.h>

namespace lockstep {

struct SummaryHead {
  std::string name;  ///< of the model
  std::string input_name;
  Shape input_shape;
};

/// Keras' table of a model, and the totals of its parameters.
std::string summary_table(const SummaryHead& head, const std::vector<GraphCall>& calls,
                          const std::vector<Layer>& layers);

}  // namespace lockstep
