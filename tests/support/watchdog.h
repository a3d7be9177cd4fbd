#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::test {

/// Aborts the program if the watchdog exists for longer than `limit`. Before that, prints to stderr what timed out and
/// what every replica is doing, which a test runner that kills the program could not print.
class Watchdog {
 public:
  Watchdog(std::string what, std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  ///< the last member, so that it is stopped and joined before the others are destroyed
};

}  // namespace lockstep::test
