#pragma once

#include <string>
#include <vector>

#include <cudnn.h>

// Stands for what cuDNN's classic functions choose and compute, in programs that pretended_cudnn.cpp is linked into: it
// computes on the host, by plain loops, what the descriptors say, which are cuDNN's own.

namespace lockstep::test {

struct PretendedCudnn {
  struct Algorithm {
    int number;
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
    cudnnDeterminism_t determinism = CUDNN_DETERMINISTIC;
    std::size_t workspace = 0;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  };

  ///@{
  /// What it answers, of any pass.
  std::vector<Algorithm> algorithms{{1}};
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;  ///< of the question for algorithms, and of work
  int without_workspace = -1;                   ///< the algorithm of which it does not say how much it needs
  ///@}
  ///@{
  /// Of the last work.
  std::string call;
  int algorithm = -1;
  cudnnMathType_t math{};
  ///@}
};

/// The one that the program's calls come to.
PretendedCudnn& pretended_cudnn();

}  // namespace lockstep::test
