#include "lockstep/runtime/core/logging.h"

#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace lockstep {
namespace {

std::shared_ptr<spdlog::logger> logger() {
  static std::mutex mutex;  // two threads must not both register the logger
  const std::lock_guard lock(mutex);
  if (auto registered = spdlog::get("lockstep")) return registered;
  auto made = spdlog::stderr_color_mt("lockstep");
  // Erases a progress bar on the current line; the bar is redrawn later.
  if (isatty(STDERR_FILENO)) made->set_pattern("\r\033[K[%Y-%m-%d %H:%M:%S.%e] [%n] [%^%l%$] %v");
  return made;
}

}  // namespace

void detail::log_warning(std::string_view message) { logger()->warn("{}", message); }

}  // namespace lockstep
