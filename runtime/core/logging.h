#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace lockstep {

namespace detail {
void log_warning(std::string_view message);
}

/// Logs one line about something that is allowed but probably unintended. Uses the spdlog logger named "lockstep" if
/// the program has registered one, else a logger of this name that writes to standard error.
template <class... Args>
void log_warning(fmt::format_string<Args...> message, Args&&... args) {
  detail::log_warning(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace lockstep
