#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace lockstep {

/// A source of elements: `next()` returns the next element as an optional, which is empty at the end.
template <class Source>
concept GivesElements = requires(Source& source) {
  source.next().has_value();
};

/// Input iterator over a source of elements, for range-based for loops.
template <class Source>
class ElementPosition {
 public:
  /// Takes the first element from `source`, which must outlive the iterator.
  explicit ElementPosition(Source& source) : source_(&source), element_(source.next()) {}
  /// The current element, valid until ++. Precondition: not at the end.
  const auto& operator*() const { return *element_; }
  /// Takes the next element. Throws whatever `source.next()` throws.
  ElementPosition& operator++() {
    element_ = source_->next();
    return *this;
  }
  /// Whether `position` is at the end.
  friend bool operator==(const ElementPosition& position, std::default_sentinel_t) { return !position.element_; }

 private:
  Source* source_;
  decltype(std::declval<Source&>().next()) element_;
};

///@{
/// Make range-based for loops work for sources of namespace lockstep (argument-dependent lookup). A loop iterates over
/// the elements that `next` has not returned yet.
template <GivesElements Source>
ElementPosition<Source> begin(Source& source) {
  return ElementPosition<Source>(source);
}
template <GivesElements Source>
std::default_sentinel_t end(Source&) {
  return {};
}
///@}

/// A single pass over elements that are produced on demand. Move-only. Only one thread at a time may use it.
template <class T>
class Elements {
 public:
  /// An empty pass.
  Elements() = default;
  /// A pass over the values that `make` returns. Only `next` calls `make`. The first empty optional or exception ends
  /// the pass; `make` is not called again after that.
  template <class Make>
  requires std::is_invocable_r_v<std::optional<T>, Make&> Elements(
      Make make)  // NOLINT(google-explicit-constructor): a function that returns elements is a pass
      : make_(std::make_unique<Function<Make>>(std::move(make))) {}

  /// The next element; empty at the end and in all later calls. Throws whatever `make` throws; this ends the pass.
  std::optional<T> next() {
    std::unique_ptr<AnyFunction> make = std::move(make_);  // after an exception the pass is at its end
    if (!make) return std::nullopt;
    std::optional<T> element = make->call();
    if (element) make_ = std::move(make);
    return element;
  }
  /// False if `next` can return no more elements: the pass is empty, has ended, has thrown or has been moved from.
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
