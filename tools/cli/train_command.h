#pragma once

#include "train_options.h"

namespace lockstep::cli {

/// Returns what the program exits with: 0, or what a signal asks for.
int run(TrainOptions options);

}  // namespace lockstep::cli
