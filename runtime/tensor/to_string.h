#pragma once

#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The elements as NumPy prints them, such as "[[1 2]\n [3 4]]": real numbers with up to six significant digits. If
/// there are more than 1000 elements, prints only the first and last three along each axis. Waits for the GPU that
/// holds the tensor.
std::string to_string(const Tensor& x);

}  // namespace lockstep
