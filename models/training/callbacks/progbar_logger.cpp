#include "lockstep/models/training/callbacks/progbar_logger.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <lockstep/models/training/training_progress.h>

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// A text like "loss: 0.4123 - accuracy: 0.8512"; the validation's values come last.
std::string metrics_text(const Logs& logs) {
  std::string text;
  const auto append = [&](bool validation) {
    for (const auto& [name, value] : logs) {
      const bool shown = name.find("loss") != std::string::npos || name.find("accuracy") != std::string::npos;
      if (shown && name.starts_with("val_") == validation)
        text += fmt::format("{}{}: {:.4f}", text.empty() ? "" : " - ", name, value);
    }
  };
  append(false);
  append(true);
  return text;
}

std::string epoch_end_text(double seconds, const Logs& logs) {
  const auto speed = logs.find("examples_per_s");
  const std::string per_second = speed == logs.end() ? "" : fmt::format(" - {:.0f} examples/s", speed->second);
  return fmt::format("{}{} - {}", clock_text(seconds), per_second, metrics_text(logs));
}

}  // namespace

struct ProgbarLogger::Epoch {
  EpochPlan plan{};
  Clock::time_point start = Clock::now();
  Clock::time_point last_shown = start;
  std::int64_t examples = 0;

  double elapsed() const { return seconds_since(start); }
  double examples_per_second() const { return static_cast<double>(examples) / std::max(1e-9, elapsed()); }
  std::string text() const { return fmt::format("Epoch {}/{}", plan.epoch + 1, plan.epochs); }
};

std::string ProgbarLogger::stop_text(const Epoch& epoch, std::int64_t steps) {
  return fmt::format("{} - stopped after step {}\n", epoch.text(), steps);
}

/// A way to display the progress.
class ProgbarLogger::Display {
 public:
  virtual ~Display() = default;
  /// The least number of seconds between two steps that are displayed.
  virtual double interval() const = 0;
  virtual void begin(const Epoch& epoch) const = 0;
  virtual void show_step(const Epoch& epoch, const StepReport& report) const = 0;
  virtual void end(const Epoch& epoch, const Logs& logs) const = 0;
  virtual void stop(const Epoch& epoch, std::int64_t steps) const = 0;
};

class ProgbarLogger::Bar final : public Display {
 public:
  double interval() const override { return 0.1; }
  void begin(const Epoch& epoch) const override { fmt::print(stderr, "{}\n", epoch.text()); }

  void show_step(const Epoch& epoch, const StepReport& report) const override {
    const std::int64_t done = report.step_in_epoch + 1;
    std::string text = fmt::format("{:.0f} examples/s - {}", epoch.examples_per_second(), metrics_text(report.running));
    std::string steps = fmt::format("{} ", done);
    if (epoch.plan.steps > 0) {
      const double left = epoch.elapsed() / static_cast<double>(done) * static_cast<double>(epoch.plan.steps - done);
      text = fmt::format("eta {} - {}", clock_text(left), text);
      const std::string all = fmt::format("{}", epoch.plan.steps);
      steps = fmt::format("{:>{}}/{} ", done, all.size(), all);
    }
    const std::size_t width = columns() - 1;  // a terminal may wrap when its last column is written
    const std::size_t beside = steps.size() + text.size() + 1;
    std::string line = steps;
    if (epoch.plan.steps > 0 && width > beside + 4)
      line += bar(static_cast<double>(done) / static_cast<double>(epoch.plan.steps), width - beside) + " ";
    else
      text.resize(std::min(text.size(), width - std::min(width, steps.size())));
    overwrite(line + text);
  }

  // With the validation's values the line may be wider than the terminal. It is not truncated but may wrap.
  void end(const Epoch& epoch, const Logs& logs) const override {
    const std::string steps = epoch.plan.steps > 0 ? fmt::format("{0}/{0} - ", epoch.plan.steps) : "";
    overwrite(steps + epoch_end_text(epoch.elapsed(), logs) + "\n");
  }

  void stop(const Epoch& epoch, std::int64_t steps) const override { overwrite(stop_text(epoch, steps)); }

 private:
  /// A bar of up to 25 columns, and no more than `columns`.
  static std::string bar(double share, std::size_t columns) {
    const std::size_t cells = std::min<std::size_t>(25, columns);
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string text;
    for (std::size_t cell = 0; cell < cells; ++cell) text += cell < filled ? "━" : cell == filled ? "╸" : " ";
    return text;
  }

  static std::size_t columns() {
    winsize window{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
  }

  static void overwrite(const std::string& line) {
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
  }
};

class ProgbarLogger::Lines final : public Display {
 public:
  double interval() const override { return 15; }
  void begin(const Epoch&) const override {}
  void show_step(const Epoch& epoch, const StepReport& report) const override {
    if (report.step_in_epoch + 1 == epoch.plan.steps) return;  // the epoch's last line follows
    fmt::print(stderr, "{} step {} - {:.0f} examples/s - {}\n", epoch.text(), report.step_in_epoch + 1,
               epoch.examples_per_second(), metrics_text(report.running));
  }
  void end(const Epoch& epoch, const Logs& logs) const override {
    fmt::print(stderr, "{} - {}\n", epoch.text(), epoch_end_text(epoch.elapsed(), logs));
  }
  void stop(const Epoch& epoch, std::int64_t steps) const override {
    fmt::print(stderr, "{}", stop_text(epoch, steps));
  }
};

ProgbarLogger::ProgbarLogger() : epoch_(std::make_unique<Epoch>()) {
  if (isatty(STDERR_FILENO))
    display_ = std::make_unique<Bar>();
  else
    display_ = std::make_unique<Lines>();
}

ProgbarLogger::~ProgbarLogger() = default;

void ProgbarLogger::on_epoch_begin(Model&, const EpochPlan& plan) {
  *epoch_ = {.plan = plan};
  display_->begin(*epoch_);
}

void ProgbarLogger::on_step_end(Model&, const StepReport& report) {
  epoch_->examples += report.examples;
  const bool last = report.step_in_epoch + 1 == epoch_->plan.steps;
  if (!last && seconds_since(epoch_->last_shown) < display_->interval()) return;
  epoch_->last_shown = Clock::now();
  display_->show_step(*epoch_, report);
}

void ProgbarLogger::on_epoch_end(Model&, int, const Logs& logs) { display_->end(*epoch_, logs); }

void ProgbarLogger::on_stop(Model&, const TrainingProgress& progress) {
  display_->stop(*epoch_, progress.steps_in_epoch);
}

}  // namespace lockstep
