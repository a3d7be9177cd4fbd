#include "lockstep/runtime/device/dynamic_library.h"

#include <dlfcn.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep {

DynamicLibrary::DynamicLibrary(const char* name, const char* remedy)
    : name_(name), handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  // dlerror() is called only after a failure: it returns each message once.
  if (handle_ == nullptr) fail<Unsupported>("{} cannot be loaded: {}; {}", name, dlerror(), remedy);
}

void* DynamicLibrary::find(const char* name) const {
  void* const found = dlsym(handle_, name);
  require<Unsupported>(found != nullptr, "{} has no function {}: another version of it is needed", name_, name);
  return found;
}

}  // namespace lockstep
