#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

/// Synchronous data-parallel training on several devices.
namespace lockstep {

/// Root of every error the library throws. `what()` is one line for people: what is wrong, with what, what would be
/// right. `where()` is the place in the source that found it.
class Error : public std::exception {
 public:
  /// Line ends and other control characters in `message` are written as escapes; `where` is what where() gives.
  Error(std::string message, std::source_location where);
  /// The message, valid until add_context is called.
  const char* what() const noexcept override { return message_.c_str(); }
  /// The place that called fail or require.
  const std::source_location& where() const noexcept { return where_; }
  /// Puts "context: " before the message. Catch by reference, add, and `throw;`: the error keeps its type.
  void add_context(std::string_view context);

 private:
  std::string message_;
  std::source_location where_;
};

// Errors a caller may recover from.

/// An argument, option, shape or device that cannot be used.
struct InvalidArgument : Error {
  using Error::Error;
};
/// A file or other input from outside that is missing, damaged or cannot be written.
struct InputError : Error {
  using Error::Error;
};
/// A valid request that this build or device cannot carry out.
struct Unsupported : Error {
  using Error::Error;
};
/// No more elements in a data set.
struct EndOfData : Error {
  using Error::Error;
};
/// A device has not enough memory.
struct OutOfMemory : Error {
  using Error::Error;
};
/// A device or one of its libraries failed.
struct DeviceError : Error {
  using Error::Error;
};
/// A checked computation gave NaN or an infinity.
struct NumericError : Error {
  using Error::Error;
};
/// A collective or barrier waited longer than its limit.
struct Timeout : Error {
  using Error::Error;
};
/// This replica was released because another one failed, whose error is the one to report.
struct Aborted : Error {
  using Error::Error;
};

/// For an op's catch clause: rethrows `error`, the current one. Errors of devices, memory and libraries
/// then name the op; errors of arguments already do.
[[noreturn]] void rethrow_from(const char* op, Error& error);

/// The API was used in an order or a context that it does not allow.
struct LogicError : Error {
  using Error::Error;
};
/// An invariant of the library does not hold: a bug here, not in the caller's code.
struct BrokenInvariant : Error {
  using Error::Error;
};

namespace detail {
template <class... Args>
struct FormatAt {
  template <class Text>
  consteval FormatAt(const Text& text, std::source_location at = std::source_location::current())  // NOLINT: implicit
      : format(text), where(at) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};
}  // namespace detail

/// Throws `E` with the formatted message and the caller's place.
template <class E = InvalidArgument, class... Args>
[[noreturn]] void fail(detail::FormatAt<std::type_identity_t<Args>...> message, Args&&... args) {
  throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

/// Throws `E` unless `ok`.
template <class E = InvalidArgument, class... Args>
void require(bool ok, detail::FormatAt<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!ok) [[unlikely]]
    throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

}  // namespace lockstep
