#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

// The classes of Keras that this project has: lists of them, and what makes objects from files by such a list.

namespace lockstep {

/// A class, under the names that files have for it.
template <class T, std::size_t n>
struct KerasClass {
  std::array<std::string_view, n> names;  ///< the class' own first
};

/// The same, for lists.
template <class T, class... Names>
constexpr KerasClass<T, sizeof...(Names)> keras_class(Names... names) {
  return {{names...}};
}

/// By name what makes an object: T::from_config(source), or T() of a class that has no options.
template <class Result, class Source>
using Makers = std::map<std::string_view, Result (*)(Source&), std::less<>>;

/// One of them.
template <class T, class Result, class Source>
Result make_keras_object(Source& source) {
  if constexpr (requires { T::from_config(source); })
    return T::from_config(source);
  else
    return T();
}

/// Of the classes in a list.
template <class Result, class Source, class... T, std::size_t... n>
Makers<Result, Source> makers_of(const std::tuple<KerasClass<T, n>...>& classes) {
  Makers<Result, Source> makers;
  const auto add = [&]<class Kind, std::size_t names>(const KerasClass<Kind, names>& known) {
    for (const std::string_view name : known.names) makers.emplace(name, make_keras_object<Kind, Result, Source>);
  };
  std::apply([&](const auto&... known) { (add(known), ...); }, classes);
  return makers;
}

/// For messages: "Adam, SGD".
template <class Result, class Source>
std::string names_of(const Makers<Result, Source>& makers) {
  std::string names;
  for (const auto& [name, maker] : makers) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

}  // namespace lockstep
