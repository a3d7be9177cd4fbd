#include "group.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep::smoke {
namespace {

using Kind = Outcome::Kind;
using Clock = std::chrono::steady_clock;

Outcome outcome_of(const Check& check) try {
  const ContextScope there(context_on({DeviceKind::gpu, 0}));
  return {Kind::ok, check.run()};
} catch (const Skipped& skipped) {
  return {Kind::skipped, skipped.why};
} catch (const std::exception& error) {
  return {Kind::failed, error.what()};
}

std::string text_of(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

Group::Group(std::vector<Check> checks, std::chrono::seconds limit, Report report)
    : checks_(std::move(checks)), limit_(limit), report_(std::move(report)) {
  start();
}

Group::~Group() { kill_process(); }

void Group::start() {
  std::array<int, 2> ends{};
  require<DeviceError>(pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe can be made for a check");
  std::fflush(nullptr);  // otherwise both processes would write what is buffered
  process_ = fork();
  if (process_ == 0) run_and_exit(ends[1]);
  close(ends[1]);
  pipe_ = ends[0];
  require<DeviceError>(process_ > 0, "no process can be made for a check");
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
  stopped_ = false;
  since_ = Clock::now();
}

void Group::run_and_exit(int pipe) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (std::size_t number = next_; number < checks_.size(); ++number) {
    fmt::print(stderr, "begin {}\n", checks_[number].name);
    const auto [kind, text] = outcome_of(checks_[number]);
    std::string record = fmt::format("{}{}", static_cast<int>(kind), text);
    std::ranges::replace(record, '\n', ' ');
    record += '\n';
    const auto written = write(pipe, record.data(), record.size());
    if (kind == Kind::failed || written < 0) _exit(EXIT_SUCCESS);
  }
  std::exit(EXIT_SUCCESS);  // unlike _exit: also runs the destructors of static objects
}

bool Group::advance() {
  read_records();
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) == process_) {
    read_records();
    process_ = -1;
    handle_end(status);
  } else if (Clock::now() - since_ >= limit_) {
    kill_process();
    next_ = std::min(next_, checks_.size() - 1);  // if the process hangs after all checks, the last one fails
    report(Kind::failed, fmt::format("did not end within {} s", limit_.count()));
  }
  if (process_ > 0) return true;
  close(std::exchange(pipe_, -1));
  if (next_ == checks_.size()) return false;
  start();
  return true;
}

void Group::read_records() {
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(pipe_, part.data(), part.size())) > 0;)
    unread_.append(part.data(), static_cast<std::size_t>(size));
  for (std::size_t end = 0; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
    const auto kind = static_cast<Kind>(unread_.front() - '0');
    stopped_ = kind == Kind::failed;
    report(kind, unread_.substr(1, end - 1));
  }
}

void Group::report(Kind kind, const std::string& text) {
  report_(checks_.at(next_++).name, {kind, text});
  since_ = Clock::now();
}

void Group::handle_end(int status) {
  if (stopped_ || (status == 0 && next_ == checks_.size())) return;
  const bool at_the_end = next_ == checks_.size();
  if (at_the_end) --next_;
  report(Kind::failed, text_of(status) + (at_the_end ? " at the end of its process" : ""));
}

void Group::kill_process() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace lockstep::smoke
