#pragma once

#include <string>

namespace lockstep {

/// A shared library that is loaded at first use instead of at every program's start. It stays until the program's end.
class DynamicLibrary {
 public:
  /// Loads `name` by the system's search order. Throws Unsupported naming it and `remedy`, what to do about a missing
  /// one.
  DynamicLibrary(const char* name, const char* remedy);

  /// A function of the library's, with the type that a header declares: function<decltype(puts)>("puts"). Throws
  /// Unsupported naming library and function when it has none of that name.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;

  std::string name_;
  void* handle_;
};

}  // namespace lockstep
