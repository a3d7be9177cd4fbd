#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::test {

/// Aborts the program if the watchdog exists for longer than `limit`. Before aborting, prints on stderr what timed out
/// and what every replica is doing; a test runner that kills the program could not print this.
class Watchdog {
 public:
  Watchdog(std::string what, std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  ///< last: stopped and joined before the other members are destroyed
};

}  // namespace lockstep::test
