#include "lockstep/models/compat/use_instead.h"

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include <lockstep/runtime/core/logging.h>

namespace lockstep {

void use_instead(std::string_view shim, std::string_view better) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  const std::lock_guard lock(mutex);
  if (said.emplace(shim).second) log_warning("{} exists for compatibility; new programs should {}", shim, better);
}

}  // namespace lockstep
