#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

namespace lockstep::detail {

/// Returns the current exception with "`context`: " prepended to its message. A lockstep::Error keeps its type; any
/// other exception is nested in an InputError. Precondition: called within a catch block.
std::exception_ptr with_context(std::string_view context) noexcept;

/// Same as with_context, with the context "`stage`, element `number`".
std::exception_ptr with_element(std::string_view stage, std::int64_t number) noexcept;

}  // namespace lockstep::detail
