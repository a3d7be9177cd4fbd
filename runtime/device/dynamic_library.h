#pragma once

#include <string>

namespace lockstep {

/// A shared library that is loaded at first use instead of at program start. It is never unloaded.
class DynamicLibrary {
 public:
  /// Loads the library `name` from the system's usual folders. Throws Unsupported with the library's name and `remedy`,
  /// which says how to install a missing library.
  DynamicLibrary(const char* name, const char* remedy);

  /// A function of the library, with the type that a header declares, e.g. function<decltype(puts)>("puts"). Throws
  /// Unsupported with the names of library and function if the library does not have it.
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
