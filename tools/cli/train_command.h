#pragma once

#include "train_options.h"

namespace lockstep::cli {

/// Trains a model as `lockstep train` does. Returns 0, or 128 + the signal's number if SIGINT or SIGTERM stopped it.
/// Throws InvalidArgument or InputError for invalid options or data.
int run(TrainOptions options);

}  // namespace lockstep::cli
