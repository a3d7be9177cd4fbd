#pragma once

#include "trained_model.h"

namespace lockstep::cli {

struct EvaluateOptions {
  TrainedModelOptions trained{};
  bool json = false;
};

int run(const EvaluateOptions& options);

}  // namespace lockstep::cli
