#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "check.h"

namespace lockstep::smoke {

/// The result of a check.
struct Outcome {
  enum class Kind { ok, failed, skipped };
  Kind kind = Kind::failed;
  std::string text{};
};

/// Runs checks one after the other in a child process, which initializes CUDA only once. After a check that fails,
/// crashes or hangs, a new process runs the rest, so that a sticky error of a CUDA context fails only one check. CUDA
/// does not survive a fork, so the parent process must never call it.
class Group {
 public:
  /// Called with the outcome of each check, in order.
  using Report = std::function<void(const std::string& check, const Outcome& outcome)>;
  /// Starts the process. A check that takes longer than `limit` is killed and fails.
  Group(std::vector<Check> checks, std::chrono::seconds limit, Report report);
  /// Kills the process.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Reports the checks that have ended since the last call. Returns whether more are to come.
  bool advance();

 private:
  void start();
  [[noreturn]] void run_and_exit(int pipe) const;
  void read_records();
  void report(Outcome::Kind kind, const std::string& text);
  void kill_process();
  /// Reports a check that ended with its process, whose wait status is `status`.
  void handle_end(int status);

  std::vector<Check> checks_;
  std::chrono::seconds limit_;
  Report report_;
  std::size_t next_ = 0;  ///< the check that is reported next
  bool stopped_ = false;  ///< the process ended itself after a failed check
  std::chrono::steady_clock::time_point since_{};
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string unread_;
};

}  // namespace lockstep::smoke
