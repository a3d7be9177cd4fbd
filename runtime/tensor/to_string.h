#pragma once

#include <ostream>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// The elements in NumPy's layout, such as "[[1 2]\n [3 4]]", but without line wrapping. Real numbers have the format
/// `%g`, NaN without its sign; bools are "true" or "false". If there are more than 1000 elements, an axis longer than
/// six shows only its first three and last three elements. Returns "[]" for a tensor without elements and "an undefined
/// tensor" for an undefined one. Waits for the GPU that holds the tensor.
std::string to_string(const Tensor& x);
inline std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
///@}

}  // namespace lockstep
