#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models.h"

// Ways to train a libtorch module over replicas on CPUs.

namespace lockstep::bench {

/// What to train.
struct Work {
  std::function<Net()> make;  ///< returns modules with equal values
  torch::Tensor inputs;       ///< the global batch of every step
  torch::Tensor labels;
  double learning_rate = 0;
  int replicas = 1;
};

/// A training in progress.
struct Training {
  std::function<double()> step;  ///< trains one step; returns the global batch's mean loss before it
  std::vector<Net> nets;         ///< whose parameters must be equal after each step
};

using Way = std::function<Training(const Work&)>;

/// lockstep::libtorch on a MirroredStrategy.
Training lockstep_libtorch(const Work& work);
/// torch::nn::parallel::data_parallel with CPUs for GPUs: each step copies the module for each replica, computes their
/// outputs in threads, and gathers these for one backward.
Training data_parallel(const Work& work);
/// A thread with a module for each replica, which after backward add up each other's gradients.
Training by_hand(const Work& work);
/// One module, which trains on the whole batch with all cores.
Training one(const Work& work);

}  // namespace lockstep::bench
