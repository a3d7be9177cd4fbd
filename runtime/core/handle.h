#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// What a handle is to, for people: a string literal as a template's argument.
template <std::size_t size>
struct HandleName {
  /// Of a literal.
  consteval HandleName(const char (&literal)[size]) { std::copy_n(literal, size, text); }  // NOLINT: implicit
  /// The literal's characters.
  char text[size]{};
};

/// A shared_ptr whose use throws LogicError while it is empty: after a move from the object that holds it, or before
/// that has been given a value.
template <class T, HandleName what>
class Handle {
 public:
  Handle() = default;
  /// Shares the object.
  Handle(std::shared_ptr<T> object) : object_(std::move(object)) {}  // NOLINT: implicit

  ///@{
  /// The object.
  T* operator->() const { return shared().get(); }
  T& operator*() const { return *shared(); }
  const std::shared_ptr<T>& shared() const {
    if (!object_) [[unlikely]]
      fail<LogicError>("this {} has no value: it has been moved from, or never been given one", what.text);
    return object_;
  }
  ///@}
  /// Whether there is one.
  explicit operator bool() const { return object_ != nullptr; }
  /// Whether both share one object, or neither has any.
  friend bool operator==(const Handle& a, const Handle& b) { return a.object_ == b.object_; }

 private:
  std::shared_ptr<T> object_;
};

}  // namespace lockstep
