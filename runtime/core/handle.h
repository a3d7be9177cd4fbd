#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// A string literal that can be a template argument: the name of the class that owns a Handle, for error messages.
template <std::size_t size>
struct HandleName {
  /// Copies the literal.
  consteval HandleName(const char (&literal)[size]) { std::copy_n(literal, size, text); }  // NOLINT: implicit
  /// The literal's characters.
  char text[size]{};
};

/// A shared_ptr that throws LogicError when it is dereferenced while empty: after its owner was moved from, or before
/// the owner was assigned a value. `what` names the owner in the message.
template <class T, HandleName what>
class Handle {
 public:
  Handle() = default;
  /// Shares ownership of `object`.
  Handle(std::shared_ptr<T> object) : object_(std::move(object)) {}  // NOLINT: implicit

  ///@{
  /// The object. Throw LogicError when empty.
  T* operator->() const { return shared().get(); }
  T& operator*() const { return *shared(); }
  const std::shared_ptr<T>& shared() const {
    if (!object_) [[unlikely]]
      fail<LogicError>("this {} has no value: it has been moved from, or never been given one", what.text);
    return object_;
  }
  ///@}
  /// Whether the handle is not empty.
  explicit operator bool() const { return object_ != nullptr; }
  /// Whether both hold the same object, or both are empty.
  friend bool operator==(const Handle& a, const Handle& b) { return a.object_ == b.object_; }

 private:
  std::shared_ptr<T> object_;
};

}  // namespace lockstep
