#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::test {

/// Ends the program when it lives longer than `limit`: first prints on stderr what timed out and what every replica
/// is doing, which a test runner that kills a program cannot.
class Watchdog {
 public:
  Watchdog(std::string what, std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  ///< last: stopped and joined before the rest goes
};

}  // namespace lockstep::test
