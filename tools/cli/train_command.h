#pragma once

#include "train_options.h"

namespace lockstep::cli {

/// Trains a model; returns the program's exit code: 0, or that of the signal that interrupted it.
int run(TrainOptions options);

}  // namespace lockstep::cli
