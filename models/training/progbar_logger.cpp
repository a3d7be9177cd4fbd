#include "lockstep/models/training/progbar_logger.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <lockstep/models/training/seconds_since.h>
#include <lockstep/models/training/training_progress.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

using Parts = std::vector<std::string>;  // of a line, which joins them with " - "

/// Appends parts such as "loss: 0.4123" and "accuracy: 0.8512". The validation's values come last.
void append_metrics(Parts& parts, const Logs& logs) {
  constexpr std::string_view of_the_run[] = {"learning_rate", "epoch_s", "examples_per_s"};
  for (const bool validation : {false, true}) {
    for (const auto& [name, value] : logs) {
      if (std::ranges::find(of_the_run, name) != std::end(of_the_run)) continue;
      if (name.starts_with("val_") == validation) parts.push_back(fmt::format("{}: {:.4f}", name, value));
    }
  }
}

void append_epoch_end(Parts& parts, double seconds, const Logs& logs) {
  parts.push_back(clock_text(seconds));
  if (const auto speed = logs.find("examples_per_s"); speed != logs.end())
    parts.push_back(fmt::format("{:.0f} examples/s", speed->second));
  append_metrics(parts, logs);
}

std::string joined(const Parts& parts) { return fmt::format("{}", fmt::join(parts, " - ")); }

/// The parts in lines of at most `width` columns. The first line has at least one part, and all other lines begin with
/// two spaces.
std::vector<std::string> lines_of(const Parts& parts, std::size_t width) {
  std::vector<std::string> lines{parts.front()};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (lines.back().size() + 3 + parts[i].size() <= width)
      lines.back() += " - " + parts[i];
    else
      lines.push_back("  " + parts[i]);
  }
  return lines;
}

}  // namespace

bool shows_progress(int verbose) {
  require(verbose >= 0 && verbose <= 2, "verbose must be 0, 1 or 2, got {}", verbose);
  return verbose > 0;
}

struct ProgbarLogger::Epoch {
  EpochPlan plan{};
  std::string title{};
  Clock::time_point start = Clock::now();
  Clock::time_point last_shown = start;
  std::int64_t examples = 0;
  bool runs = false;  ///< from on_epoch_begin to on_epoch_end

  double elapsed() const { return seconds_since(start); }
  double examples_per_second() const { return static_cast<double>(examples) / std::max(1e-9, elapsed()); }
  /// The expected time for the other steps after `done` steps, of which an earlier run may have made some.
  double seconds_left(std::int64_t done) const {
    return elapsed() / static_cast<double>(done - plan.steps_done) * static_cast<double>(plan.steps - done);
  }
  std::string text() const { return title.empty() ? fmt::format("Epoch {}/{}", plan.epoch + 1, plan.epochs) : title; }
};

std::string ProgbarLogger::stop_text(const Epoch& epoch, std::int64_t steps) {
  return fmt::format("{} - stopped after step {}\n", epoch.text(), steps);
}

/// A way to display the progress.
class ProgbarLogger::Display {
 public:
  virtual ~Display() = default;
  /// The minimum number of seconds between two displayed steps.
  virtual double interval() const = 0;
  virtual void begin(const Epoch& epoch) const = 0;
  virtual void show_step(const Epoch& epoch, std::int64_t step, const Logs& running) const = 0;
  virtual void end(const Epoch& epoch, const Logs& logs) const = 0;
  virtual void stop(const Epoch& epoch, std::int64_t steps) const = 0;
};

class ProgbarLogger::Bar final : public Display {
 public:
  double interval() const override { return 0.1; }
  void begin(const Epoch& epoch) const override { print_message("{}\n", epoch.text()); }

  void show_step(const Epoch& epoch, std::int64_t step, const Logs& running) const override {
    const std::int64_t done = step + 1;
    Parts parts;
    std::string line = fmt::format("{} ", done);
    if (epoch.plan.steps > 0) {
      parts.push_back(fmt::format("eta {}", clock_text(epoch.seconds_left(done))));
      const std::string all = fmt::format("{}", epoch.plan.steps);
      line = fmt::format("{:>{}}/{} ", done, all.size(), all);
    }
    parts.push_back(fmt::format("{:.0f} examples/s", epoch.examples_per_second()));
    append_metrics(parts, running);
    const std::size_t room = width() - std::min(width(), line.size());
    const std::string text = lines_of(parts, room).front().substr(0, room);  // parts that do not fit are not shown
    if (epoch.plan.steps > 0 && room > text.size() + 5)
      line += bar(static_cast<double>(done) / static_cast<double>(epoch.plan.steps), room - text.size() - 1) + " ";
    overwrite(line + text);
  }

  void end(const Epoch& epoch, const Logs& logs) const override {
    Parts parts;
    if (epoch.plan.steps > 0) parts.push_back(fmt::format("{0}/{0}", epoch.plan.steps));
    append_epoch_end(parts, epoch.elapsed(), logs);
    overwrite(fmt::format("{}\n", fmt::join(lines_of(parts, width()), "\n")));
  }

  void stop(const Epoch& epoch, std::int64_t steps) const override { overwrite(stop_text(epoch, steps)); }

 private:
  /// A bar of up to min(25, `columns`) columns.
  static std::string bar(double share, std::size_t columns) {
    const std::size_t cells = std::min<std::size_t>(25, columns);
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string text;
    for (std::size_t cell = 0; cell < cells; ++cell) text += cell < filled ? "━" : cell == filled ? "╸" : " ";
    return text;
  }

  /// The number of the terminal's columns without the last one, because a terminal may wrap when the last one is
  /// written.
  static std::size_t width() {
    winsize window{};
    return (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80) - 1;
  }

  static void overwrite(const std::string& line) { print_message("\r\033[K{}", line); }
};

class ProgbarLogger::Lines final : public Display {
 public:
  explicit Lines(double interval) : interval_(interval) {}
  double interval() const override { return interval_; }
  void begin(const Epoch&) const override {}
  void show_step(const Epoch& epoch, std::int64_t step, const Logs& running) const override {
    if (step + 1 == epoch.plan.steps) return;  // the epoch's last line follows
    Parts parts{fmt::format("{} step {}", epoch.text(), step + 1),
                fmt::format("{:.0f} examples/s", epoch.examples_per_second())};
    append_metrics(parts, running);
    print_message("{}\n", joined(parts));
  }
  void end(const Epoch& epoch, const Logs& logs) const override {
    Parts parts{epoch.text()};
    append_epoch_end(parts, epoch.elapsed(), logs);
    print_message("{}\n", joined(parts));
  }
  void stop(const Epoch& epoch, std::int64_t steps) const override { print_message("{}", stop_text(epoch, steps)); }

 private:
  double interval_;
};

ProgbarLogger::ProgbarLogger(std::string title, int verbose)
    : title_(std::move(title)), epoch_(std::make_unique<Epoch>()) {
  require(verbose == 1 || verbose == 2, "a ProgbarLogger's verbose must be 1 or 2, got {}", verbose);
  if (verbose == 2)
    display_ = std::make_unique<Lines>(std::numeric_limits<double>::infinity());
  else if (isatty(STDERR_FILENO))
    display_ = std::make_unique<Bar>();
  else
    display_ = std::make_unique<Lines>(15);
}

ProgbarLogger::~ProgbarLogger() = default;

void ProgbarLogger::on_epoch_begin(Model&, const EpochPlan& plan) {
  *epoch_ = {.plan = plan, .title = title_, .runs = true};
  display_->begin(*epoch_);
}

void ProgbarLogger::on_train_batch_end(Model&, const StepReport& report) {
  show_step(report.step_in_epoch, report.examples, [&] { return report.running; });
}

void ProgbarLogger::on_epoch_end(Model&, int, const Logs& logs) {
  display_->end(*epoch_, logs);
  epoch_->runs = false;
}

void ProgbarLogger::on_stop(Model&, const TrainingProgress& progress) {
  if (std::exchange(epoch_->runs, false)) display_->stop(*epoch_, progress.steps_in_epoch);
}

void ProgbarLogger::show_step(std::int64_t step, std::int64_t examples, const std::function<Logs()>& running) {
  epoch_->examples += examples;
  const bool last = step + 1 == epoch_->plan.steps;
  if (!last && seconds_since(epoch_->last_shown) < display_->interval()) return;
  epoch_->last_shown = Clock::now();
  display_->show_step(*epoch_, step, running());
}

}  // namespace lockstep
