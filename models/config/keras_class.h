#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

// Lists of the supported Keras classes, and the factories that make objects of these classes from files.

namespace lockstep {

/// The class T and its names in files.
template <class T, std::size_t n>
struct KerasClass {
  std::array<std::string_view, n> names;  ///< the class's own name first
};

/// Makes a KerasClass, as an entry of a list.
template <class T, class... Names>
constexpr KerasClass<T, sizeof...(Names)> keras_class(Names... names) {
  return {{names...}};
}

/// Converts implicitly to the options struct that a constructor takes, by reading it from `source` with read_options.
template <class Source>
struct OptionsIn {
  Source& source;  ///< a config that is being read

  /// Throws the errors of read_options.
  template <class Options>
  requires requires(Source& from) { read_options<Options>(from); }
  operator Options() const { return read_options<Options>(source); }
};

/// Maps each class name in files to the function that makes an object of the class; see make_keras_object.
template <class Result, class Source>
using Makers = std::map<std::string_view, Result (*)(Source&), std::less<>>;

/// Makes an object of T by the first of these that T has: T::from_config(source), T(options, source.common),
/// T(options), T(name), T(). The options and the name are read from `source`; `source.common` are an optimizer's common
/// options. Makers hold pointers to functions of this template.
template <class T, class Result, class Source>
Result make_keras_object(Source& source) {
  if constexpr (requires { T::from_config(source); })
    return T::from_config(source);
  else if constexpr (requires { T(OptionsIn<Source>{source}, source.common); })
    return T(OptionsIn<Source>{source}, source.common);
  else if constexpr (requires { T(OptionsIn<Source>{source}); })
    return T(OptionsIn<Source>{source});
  else if constexpr (requires { T(read_name(source)); })
    return T(read_name(source));
  else {
    static_assert(
        !requires { read_name(source); }, "the layer's options need a name and a member function describe");
    static_assert(
        !requires { source.common; }, "the optimizer's options need a learning_rate and a member function describe");
    return T();
  }
}

/// The Makers of the classes in a list, under all their names.
template <class Result, class Source, class... T, std::size_t... n>
Makers<Result, Source> makers_of(const std::tuple<KerasClass<T, n>...>& classes) {
  Makers<Result, Source> makers;
  const auto add = [&]<class Kind, std::size_t names>(const KerasClass<Kind, names>& known) {
    for (const std::string_view name : known.names) makers.emplace(name, make_keras_object<Kind, Result, Source>);
  };
  std::apply([&](const auto&... known) { (add(known), ...); }, classes);
  return makers;
}

/// All names, for messages: "adam, sgd".
template <class Result, class Source>
std::string names_of(const Makers<Result, Source>& makers) {
  std::string names;
  for (const auto& [name, maker] : makers) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

}  // namespace lockstep
