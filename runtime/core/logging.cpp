#include "lockstep/runtime/core/logging.h"

#include <csignal>
#include <cstdio>
#include <ctime>
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

/// While it exists, the calling thread's writes to a pipe without a reader fail instead of ending the program.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~NoPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 1) return;  // the program's own choice
    constexpr timespec no_wait{};
    sigtimedwait(&signals_, nullptr, &no_wait);  // removes the signal, which would otherwise arrive now
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace

void detail::log_warning(std::string_view message) {
  const NoPipeSignal no_signal;
  logger()->warn("{}", message);
}

void detail::print_message(std::string_view text) {
  const NoPipeSignal no_signal;
  std::fwrite(text.data(), 1, text.size(), stderr);  // not fmt::print, which throws if it fails
}

}  // namespace lockstep
