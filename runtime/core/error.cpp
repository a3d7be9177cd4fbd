#include "lockstep/runtime/core/error.h"

#include <algorithm>

namespace lockstep {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// What a message quotes, such as a name in a damaged file, may have line ends, and more that a terminal obeys.
std::string one_line(std::string message) {
  if (std::ranges::none_of(message, is_control)) return message;
  std::string line;
  for (const char c : message) {
    if (is_control(c))
      line += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  }
  return line;
}

}  // namespace

Error::Error(std::string message, std::source_location where) : message_(one_line(std::move(message))), where_(where) {}

void Error::add_context(std::string_view context) {
  message_ = fmt::format("{}: {}", one_line(std::string(context)), message_);
}

void rethrow_from(const char* op, Error& error) {
  const bool of_device = dynamic_cast<const DeviceError*>(&error) != nullptr ||
                         dynamic_cast<const OutOfMemory*>(&error) != nullptr ||
                         dynamic_cast<const Unsupported*>(&error) != nullptr;
  const std::string_view message = error.what();
  const std::string_view name = op;
  // An op may do a part of its work by calling itself.
  const bool named = message.starts_with(name) && message.substr(name.size()).starts_with(": ");
  if (of_device && !named) error.add_context(op);
  throw;
}

}  // namespace lockstep
