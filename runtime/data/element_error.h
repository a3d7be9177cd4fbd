#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

namespace lockstep::detail {

/// The exception in hand with "`stage` of element `number`" before its message: a lockstep::Error as it is, another as
/// an InputError around it. Precondition: called within a catch block.
std::exception_ptr with_element(std::string_view stage, std::int64_t number) noexcept;

}  // namespace lockstep::detail
