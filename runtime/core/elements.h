#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace lockstep {

/// The protocol of all that gives elements one by one: `next()` gives the next one as an optional, nothing at the end.
template <class Source>
concept GivesElements = requires(Source& source) {
  source.next().has_value();
};

/// An input iterator for range-for over what gives elements.
template <class Source>
class ElementPosition {
 public:
  /// At what `source.next()` gives.
  explicit ElementPosition(Source& source) : source_(&source), element_(source.next()) {}
  /// The element, until this moves on. Precondition: not at the end.
  const auto& operator*() const { return *element_; }
  /// Moves on. Throws what `source.next()` throws.
  ElementPosition& operator++() {
    element_ = source_->next();
    return *this;
  }
  /// Whether it is at the end.
  friend bool operator==(const ElementPosition& position, std::default_sentinel_t) { return !position.element_; }

 private:
  Source* source_;
  decltype(std::declval<Source&>().next()) element_;
};

///@{
/// For range-for over what gives elements and is of this namespace: those that `next` would give from here on.
template <GivesElements Source>
ElementPosition<Source> begin(Source& source) {
  return ElementPosition<Source>(source);
}
template <GivesElements Source>
std::default_sentinel_t end(Source&) {
  return {};
}
///@}

/// One pass over elements, which are made one by one as they are asked for. Move-only; for one thread at a time.
template <class T>
class Elements {
 public:
  /// At its end.
  Elements() = default;
  /// The elements that `make` gives until it gives nothing or throws. It is called by `next` alone, and not afterwards.
  template <class Make>
  requires std::is_invocable_r_v<std::optional<T>, Make&> Elements(
      Make make)  // NOLINT(google-explicit-constructor): a function that gives elements is a pass over them
      : make_(std::make_unique<Function<Make>>(std::move(make))) {}

  /// The next element; nothing at the end, however often asked. What the function throws is the end, too.
  std::optional<T> next() {
    std::unique_ptr<AnyFunction> make = std::move(make_);  // a call that throws leaves nothing to be called again
    if (!make) return std::nullopt;
    std::optional<T> element = make->call();
    if (element) make_ = std::move(make);
    return element;
  }
  /// Whether it may have more elements: it has neither ended nor been moved from.
  explicit operator bool() const { return make_ != nullptr; }

 private:
  struct AnyFunction {
    virtual ~AnyFunction() = default;
    virtual std::optional<T> call() = 0;
  };
  template <class Make>
  struct Function final : AnyFunction {
    explicit Function(Make function) : make(std::move(function)) {}
    std::optional<T> call() override { return make(); }
    Make make;
  };

  std::unique_ptr<AnyFunction> make_;
};

}  // namespace lockstep
