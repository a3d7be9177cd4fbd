#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace lockstep {

namespace detail {
void log_warning(std::string_view message);
}

/// A line for people about what is allowed and perhaps not meant. Goes to the spdlog logger "lockstep", which writes to
/// standard error unless the program has registered another.
template <class... Args>
void log_warning(fmt::format_string<Args...> message, Args&&... args) {
  detail::log_warning(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace lockstep
