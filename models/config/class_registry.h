#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/models/config/keras_class.h>
#include <lockstep/models/config/object_config.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

/// The classes of one kind, such as layers, that files can hold: Keras' classes and the classes that the program
/// registers. Threads may use it concurrently.
template <class Result, class Source>
class ClassRegistry {
 public:
  /// Makes an object from the options in a file.
  using Maker = Result (*)(Source&);

  /// `keras`: Keras' classes, whose module in files is `module`. `others`: classes of other modules that files may
  /// contain, such as the layers of keras.applications; the program may register its own classes under their names.
  ClassRegistry(std::string_view module, Makers<Result, Source> keras, Makers<Result, Source> others = {})
      : module_(module), keras_(std::move(keras)), others_(std::move(others)) {}

  /// Registers a class of the program as "package>name". Does nothing if the same registration has been made before.
  /// Throws InvalidArgument for a package, name or class_name that is empty, for a '>' in package or name, for a
  /// class_name of Keras, and if another class is registered as "package>name" or with this class_name.
  void add(std::string_view package, std::string_view class_name, std::string_view name, Maker make) {
    const Registered added{registered_name(package, name), std::string(class_name), make};
    require(!class_name.empty() && !is_keras(class_name),
            "the class '{}' cannot be registered as {}: give it a class_name that no class of Keras has", class_name,
            added.name);
    const std::lock_guard lock(mutex_);
    for (const Registered& other : registered_) {
      if (other == added) return;
      require(other.name != added.name && other.class_name != class_name,
              "the class '{}' cannot be registered as {}: another class, '{}', is registered as {}", class_name,
              added.name, other.class_name, other.name);
    }
    registered_.push_back(added);
  }

  /// The maker for a class name in a file; null for an unknown name. Finds Keras' classes and `others` by name or
  /// plain_name (object_config.h), and registered classes by "package>name" or by class_name. A class_name that is also
  /// a name of `others` means the class of `others`.
  Maker find(std::string_view name) const {
    const auto own = find_own([&](const Registered& known) {
      return known.name == name || (known.class_name == name && !others_.contains(name));
    });
    if (own) return own->make;
    for (const Classes* const classes : {&keras_, &others_})
      if (const auto found = find_in(*classes, name); found != classes->end()) return found->second;
    return nullptr;
  }

  /// How files name the class. `common`: names of the options that files hold for all classes of this kind, such as
  /// "name". Throws Unsupported, which names the `object`, for a class that is neither Keras' nor registered, and for a
  /// registered class that has an option with a name in `common`.
  FileClass file_class(std::string_view object, const ObjectConfig& config, std::span<const std::string> common) const {
    const FileClass found = file_class(object, config.class_name);
    for (const std::string& name : common)
      require<Unsupported>(found.registered_name.empty() || !has_option(config, name),
                           "files of whole models cannot hold {}: its class {} has an option named {}, as all classes "
                           "of this kind have; rename it",
                           object, config.class_name, name);
    return found;
  }

  /// Same as above, without the check of the options' names.
  FileClass file_class(std::string_view object, std::string_view class_name) const {
    if (const auto own = find_own([&](const Registered& known) { return known.class_name == class_name; }))
      return {.class_name = own->class_name, .registered_name = own->name};
    require<Unsupported>(is_keras(class_name),
                         "files of whole models cannot hold {} of the custom class {}; register the class with "
                         "register_keras_serializable, or save only the weights",
                         object, class_name);
    return {.module = module_, .class_name = std::string(class_name)};
  }

  /// The name of Keras' class with this name or plain_name; empty if there is none.
  std::string_view keras_name(std::string_view name) const {
    const auto found = find_in(keras_, name);
    return found == keras_.end() ? std::string_view() : found->first;
  }

  /// Whether Keras has a class of this name or plain_name.
  bool is_keras(std::string_view name) const { return !keras_name(name).empty(); }
  /// Whether there is a config and its class is one of Keras'.
  bool is_keras(const std::optional<ObjectConfig>& config) const { return config && is_keras(config->class_name); }

  /// Text for the message about an unknown class: the names that find() knows, and how to register a class.
  std::string known_names() const {
    std::string names = names_of(keras_);
    if (!others_.empty()) names.append(", ").append(names_of(others_));
    const std::lock_guard lock(mutex_);
    for (const Registered& own : registered_) names.append(", ").append(own.name);
    return names + "; programs register their own with register_keras_serializable";
  }

 private:
  using Classes = Makers<Result, Source>;
  struct Registered {
    std::string name;
    std::string class_name;
    Maker make;
    bool operator==(const Registered&) const = default;
  };

  static Classes::const_iterator find_in(const Classes& classes, std::string_view name) {
    const auto found = classes.find(name);
    return found == classes.end() ? classes.find(plain_name(name)) : found;
  }

  template <class Predicate>
  std::optional<Registered> find_own(const Predicate& is_it) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(registered_, is_it);
    return found == registered_.end() ? std::nullopt : std::optional(*found);
  }

  std::string module_;
  Classes keras_;
  Classes others_;
  mutable std::mutex mutex_;
  std::vector<Registered> registered_;  ///< few, so a linear search is fast
};

}  // namespace lockstep
