#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "check.h"

namespace lockstep::smoke {

/// How a check ended.
struct Outcome {
  enum class Kind { ok, failed, skipped };
  Kind kind = Kind::failed;
  std::string text{};
};

/// Checks that run one behind the other in a process of their own, which saves the time of CUDA's start for each. After
/// one that fails, crashes or hangs, the rest get a new process: an error that sticks to a CUDA context is one check's.
/// CUDA does not survive a fork, so that the parent process must never call it.
class Group {
 public:
  /// Called for each check, in order.
  using Report = std::function<void(const std::string& check, const Outcome& outcome)>;
  /// Begins. A check that takes longer than `limit` is ended.
  Group(std::vector<Check> checks, std::chrono::seconds limit, Report report);
  /// Ends what runs.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Reports what has ended since the last call. Whether there is more to come.
  bool advance();

 private:
  void start();
  [[noreturn]] void run_and_exit(int pipe) const;
  void read_records();
  void report(Outcome::Kind kind, const std::string& text);
  void kill_process();
  /// Of a process that has ended.
  void handle_end(int status);

  std::vector<Check> checks_;
  std::chrono::seconds limit_;
  Report report_;
  std::size_t next_ = 0;  ///< the check whose outcome comes next
  bool stopped_ = false;  ///< by the process itself, after a check that failed
  std::chrono::steady_clock::time_point since_{};
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string unread_;
};

}  // namespace lockstep::smoke
