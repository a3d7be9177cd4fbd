#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace lockstep {

namespace detail {
void log_warning(std::string_view message);
void print_message(std::string_view text);
}  // namespace detail

/// Logs one line about something that is allowed but probably unintended. Uses the spdlog logger named "lockstep" if
/// the program has registered one, else a logger of this name that writes to standard error.
template <class... Args>
void log_warning(fmt::format_string<Args...> message, Args&&... args) {
  detail::log_warning(fmt::format(message, std::forward<Args>(args)...));
}

/// Writes progress and messages to standard error, without a line break of its own. Drops text that cannot be written,
/// e.g. because a disk is full or the pipe's reader has ended; a message therefore never ends a training.
template <class... Args>
void print_message(fmt::format_string<Args...> text, Args&&... args) {
  detail::print_message(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace lockstep
