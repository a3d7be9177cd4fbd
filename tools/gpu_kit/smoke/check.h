#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::smoke {

/// Checks one assumption of the library about CUDA or an NVIDIA library.
struct Check {
  std::string name;  ///< letters, digits and _ only
  /// Returns a description of the result. Throws Skipped, or any other exception if the assumption is wrong.
  std::function<std::string()> run;
  bool alone = false;  ///< the check measures time, so nothing else may use the GPU meanwhile
};

/// Thrown by a check that this GPU or build cannot run.
struct Skipped {
  std::string why;
};

///@{
/// The checks of each subject. These functions call no NVIDIA library.
Check device_check();
std::vector<Check> cuda_checks();
std::vector<Check> graph_checks();
std::vector<Check> cublas_checks();
std::vector<Check> convolution_checks();
std::vector<Check> attention_checks();
std::vector<Check> recurrence_checks();
std::vector<Check> nccl_checks();
std::vector<Check> library_checks();
std::vector<Check> tensor_float_checks();
///@}

}  // namespace lockstep::smoke
