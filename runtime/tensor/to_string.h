#pragma once

#include <ostream>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// The elements in NumPy's layout, such as "[[1 2]\n [3 4]]", without wrapped lines: real numbers as %g prints them,
/// bools as "true" and "false". If there are more than 1000 elements, shows only the first and last three along each
/// axis of more than six. "[]" without elements; "an undefined tensor" if undefined. Waits for the GPU that holds the
/// tensor.
std::string to_string(const Tensor& x);
inline std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
///@}

}  // namespace lockstep
