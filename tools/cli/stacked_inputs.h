#pragma once

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// `model`, whose inputs are of one shape, with these stacked along a new first axis as its only input, which fit() can
/// feed: (inputs, shape of one). It shares the layers, and its weights are saved and loaded as those of `model`.
Model stack_inputs(const Model& model);

}  // namespace lockstep::cli
