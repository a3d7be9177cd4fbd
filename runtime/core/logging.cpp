#include "lockstep/runtime/core/logging.h"

#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace lockstep {
namespace {

std::shared_ptr<spdlog::logger> logger() {
  static std::mutex mutex;  // two threads must not both register it
  const std::lock_guard lock(mutex);
  if (auto registered = spdlog::get("lockstep")) return registered;
  return spdlog::stderr_color_mt("lockstep");
}

}  // namespace

void detail::log_warning(std::string_view message) { logger()->warn("{}", message); }

}  // namespace lockstep
