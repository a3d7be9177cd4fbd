#pragma once

#include <string>
#include <vector>

#include "replica_options.h"
#include "scaling.h"

namespace lockstep::cli {

struct ScalingOptions {
  std::string model = "minigooglenet";
  DeviceOptions devices{};
  std::vector<std::string> methods{};  ///< empty: all
  ScalingPlan plan{.run = {.warmup = 3, .steps = 10}};
  std::string plot;
  bool json = false;
};

int run(ScalingOptions options);

}  // namespace lockstep::cli
