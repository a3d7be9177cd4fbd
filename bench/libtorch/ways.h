#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models.h"

// Ways to train a libtorch module over replicas on CPUs.

namespace lockstep::bench {

/// What to train.
struct Work {
  std::function<Net()> make;  ///< returns a new module; all have equal initial parameters
  torch::Tensor inputs;       ///< the global batch of every step
  torch::Tensor labels;
  double learning_rate = 0;
  int replicas = 1;
};

/// A training in progress.
struct Training {
  std::function<double()> step;  ///< trains one step; returns the mean loss of the global batch before the update
  std::vector<Net> nets;         ///< the trained modules; their parameters must be equal after each step
};

using Way = std::function<Training(const Work&)>;

/// lockstep::libtorch on a MirroredStrategy.
Training lockstep_libtorch(const Work& work);
#if LOCKSTEP_HAVE_CUDA
/// torch::nn::parallel::data_parallel's algorithm on CPUs: each step copies the module for each replica, runs the
/// copies' forward passes in threads, concatenates their outputs and runs one backward pass. Only in builds with CUDA,
/// because libtorch's header for it includes headers of the CUDA toolkit.
Training data_parallel(const Work& work);
#endif
/// Data parallelism as a user would write it: each replica has a thread, a module and an optimizer. After backward each
/// thread sums every n-th gradient over all n replicas and writes the sum to all of them.
Training by_hand(const Work& work);
/// Trains one module on the whole batch with all cores.
Training one(const Work& work);

}  // namespace lockstep::bench
