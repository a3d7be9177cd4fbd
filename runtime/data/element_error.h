#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

namespace lockstep::detail {

/// Returns the current exception with "`stage`, element `number`: " prepended to its message. A lockstep::Error keeps
/// its type; any other exception is nested in an InputError. Precondition: called within a catch block.
std::exception_ptr with_element(std::string_view stage, std::int64_t number) noexcept;

}  // namespace lockstep::detail
