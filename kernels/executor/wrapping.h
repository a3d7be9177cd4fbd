#pragma once

#include <type_traits>

namespace lockstep {

/// The type for arithmetic on T: for integers the unsigned type, whose overflow wraps around; for real types and bool T
/// itself.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

}  // namespace lockstep
