#pragma once

#include <string>

#include "trained_model.h"

namespace lockstep::cli {

struct PredictOptions {
  TrainedModelOptions trained{};
  std::string output;
};

int run(const PredictOptions& options);

}  // namespace lockstep::cli
