#pragma once

#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

/// Synchronous data-parallel training on several devices.
namespace lockstep {

/// Base class of all errors that lockstep throws. `what()` is one human-readable line that says what is wrong and,
/// where possible, how to fix it.
class Error : public std::exception {
 public:
  /// Control characters in `message`, such as line ends, are escaped.
  Error(std::string message, std::source_location where);
  /// The message; the pointer is valid until add_context is called.
  const char* what() const noexcept override { return message_.c_str(); }
  /// Where `fail` or `require` was called.
  const std::source_location& where() const noexcept { return where_; }
  /// Prepends "context: " to the message. Does nothing if the message already begins with this text, because a program
  /// may throw one exception object several times. To keep the exception's type, catch by reference, call this and
  /// rethrow with `throw;`.
  void add_context(std::string_view context);
  ///@{
  /// Whether all worker processes of a training throw this error at the same place, so that none notifies the others.
  bool is_on_all_workers() const noexcept { return is_on_all_workers_; }
  void set_on_all_workers() noexcept { is_on_all_workers_ = true; }
  ///@}

 private:
  std::string message_;
  std::source_location where_;
  bool is_on_all_workers_ = false;
};

// Errors a caller may recover from.

/// An argument, option, shape or device that cannot be used.
struct InvalidArgument : Error {
  using Error::Error;
};
/// A file or other external data that is missing or damaged, or a file that cannot be written.
struct InputError : Error {
  using Error::Error;
};
/// A valid request that this build or device cannot carry out.
struct Unsupported : Error {
  using Error::Error;
};
/// A device does not have enough memory.
struct OutOfMemory : Error {
  using Error::Error;
};
/// A device or one of its libraries failed.
struct DeviceError : Error {
  using Error::Error;
};
/// A checked computation produced NaN or infinity.
struct NumericError : Error {
  using Error::Error;
};
/// A collective or barrier waited longer than its limit.
struct Timeout : Error {
  using Error::Error;
};
/// This replica was stopped because another replica failed; report the other replica's error.
struct Aborted : Error {
  using Error::Error;
};

/// The message of an exception, which must not be null; "an exception of unknown type" if it is not a std::exception.
std::string message_of(const std::exception_ptr& error);

/// For an op's catch clause: rethrows the current exception `error`. Prefixes the messages of DeviceError, OutOfMemory
/// and Unsupported with the op's name; errors about arguments already contain it.
[[noreturn]] void rethrow_from(const char* op, Error& error);

/// The API was used in an order or a context that it does not allow.
struct LogicError : Error {
  using Error::Error;
};
/// An invariant of lockstep does not hold: a bug in lockstep, not in the caller's code.
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

/// Throws `E` with the formatted message and the caller's source location.
template <class E = InvalidArgument, class... Args>
[[noreturn]] void fail(detail::FormatAt<std::type_identity_t<Args>...> message, Args&&... args) {
  throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

/// Throws `E`, like fail, if `ok` is false.
template <class E = InvalidArgument, class... Args>
void require(bool ok, detail::FormatAt<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!ok) [[unlikely]]
    throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

}  // namespace lockstep
