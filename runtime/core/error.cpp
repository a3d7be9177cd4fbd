#include "lockstep/runtime/core/error.h"

#include <algorithm>
#include <mutex>

namespace lockstep {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Escapes control characters: quoted text, such as a name in a damaged file, may hold line ends and terminal controls.
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
  const std::string prefix = one_line(std::string(context)) + ": ";
  static std::mutex mutex;  // several replicas may throw the same object, kept by the program
  const std::lock_guard lock(mutex);
  if (!message_.starts_with(prefix)) message_ = prefix + message_;
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

void rethrow_from(const char* op, Error& error) {
  const bool of_device = dynamic_cast<const DeviceError*>(&error) != nullptr ||
                         dynamic_cast<const OutOfMemory*>(&error) != nullptr ||
                         dynamic_cast<const Unsupported*>(&error) != nullptr;
  if (of_device) error.add_context(op);
  throw;
}

}  // namespace lockstep
