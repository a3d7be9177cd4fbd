#include <cstdlib>
#include <utility>

#include <fmt/core.h>
#include <support/watchdog.h>

#include <lockstep/runtime/thread/rendezvous.h>

namespace lockstep::test {

Watchdog::Watchdog(std::string what, std::chrono::milliseconds limit)
    : thread_([this, what = std::move(what), limit](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        stopped_.wait_for(lock, stop, limit, [] { return false; });
        if (stop.stop_requested()) return;
        const std::string states = states_of_all_replicas();
        fmt::print(stderr, "{} timed out after {} s\n{}", what, std::chrono::duration<double>(limit).count(),
                   states.empty() ? "no replica runs\n" : states);
        std::abort();
      }) {}

}  // namespace lockstep::test
