#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::smoke {

/// One assumption of the library about CUDA or one of NVIDIA's libraries.
struct Check {
  std::string name;  ///< of letters, digits and _
  /// Returns what was seen. Throws Skipped, and any other exception where the assumption is wrong.
  std::function<std::string()> run;
  bool alone = false;  ///< nothing else may use the GPU meanwhile: it times something
};

/// A check that this GPU or build cannot make.
struct Skipped {
  std::string why;
};

///@{
/// By subject. Making them calls none of NVIDIA's libraries.
Check device_check();
std::vector<Check> cuda_checks();
std::vector<Check> graph_checks();
std::vector<Check> cublas_checks();
std::vector<Check> convolution_checks();
std::vector<Check> recurrence_checks();
std::vector<Check> nccl_checks();
std::vector<Check> library_checks();
std::vector<Check> tensor_float_checks();
///@}

}  // namespace lockstep::smoke
