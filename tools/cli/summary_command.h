#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/layers/dtype_policy.h>

namespace lockstep::cli {

struct SummaryOptions {
  std::string model;
  std::optional<DTypePolicy> dtype_policy{};
  std::int64_t batch_size = 0;  ///< examples with which a step's memory is measured; 0: no measurement
  bool json = false;
};

int run(const SummaryOptions& options);

}  // namespace lockstep::cli
