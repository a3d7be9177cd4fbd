#include "progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lockstep::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// "loss: 0.4123 - accuracy: 0.8512", the validation's after the training's.
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

/// What both ways of showing know about the epoch under way.
class Progress : public Callback {
 public:
  void on_epoch_begin(Model&, const EpochPlan& plan) override {
    plan_ = plan;
    start_ = last_shown_ = Clock::now();
    begin_epoch();
  }
  void on_step_end(Model&, const StepReport& report) override {
    examples_ += report.examples;
    const bool last = report.step_in_epoch + 1 == plan_.steps;
    if (!last && seconds_since(last_shown_) < interval()) return;
    last_shown_ = Clock::now();
    show_step(report);
  }
  void on_epoch_end(Model&, int, const Logs& logs) override {
    end_epoch(logs);
    examples_ = 0;
  }

 protected:
  virtual void begin_epoch() = 0;
  virtual void show_step(const StepReport& report) = 0;
  virtual void end_epoch(const Logs& logs) = 0;
  virtual double interval() const = 0;  ///< least seconds between two reports within an epoch

  double elapsed() const { return seconds_since(start_); }
  double examples_per_second() const { return static_cast<double>(examples_) / std::max(1e-9, elapsed()); }
  const EpochPlan& plan() const { return plan_; }
  std::string epoch_text() const { return fmt::format("Epoch {}/{}", plan_.epoch + 1, plan_.epochs); }

 private:
  EpochPlan plan_;
  Clock::time_point start_;
  Clock::time_point last_shown_;
  std::int64_t examples_ = 0;
};

class ProgressBar final : public Progress {
 protected:
  double interval() const override { return 0.1; }
  void begin_epoch() override { fmt::print(stderr, "{}\n", epoch_text()); }

  void show_step(const StepReport& report) override {
    const std::int64_t done = report.step_in_epoch + 1;
    std::string text = fmt::format("{:.0f} examples/s - {}", examples_per_second(), metrics_text(report.running));
    std::string steps = fmt::format("{} ", done);
    if (plan().steps > 0) {
      const double left = elapsed() / static_cast<double>(done) * static_cast<double>(plan().steps - done);
      text = fmt::format("eta {} - {}", clock_text(left), text);
      const std::string all = fmt::format("{}", plan().steps);
      steps = fmt::format("{:>{}}/{} ", done, all.size(), all);
    }
    const std::size_t width = columns() - 1;  // a terminal may wrap when its last column is written
    const std::size_t beside = steps.size() + text.size() + 1;
    std::string line = steps;
    if (plan().steps > 0 && width > beside + 4)
      line += bar(static_cast<double>(done) / static_cast<double>(plan().steps), width - beside) + " ";
    else
      text.resize(std::min(text.size(), width - std::min(width, steps.size())));
    overwrite(line + text);
  }

  // The validation's values make the line longer than some terminals are wide: it may wrap, nothing is cut.
  void end_epoch(const Logs& logs) override {
    const std::string steps = plan().steps > 0 ? fmt::format("{0}/{0} - ", plan().steps) : "";
    overwrite(steps + epoch_end_text(elapsed(), logs) + "\n");
  }

 private:
  /// A bar of up to 25 columns, as many as there are.
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

class PlainLines final : public Progress {
 protected:
  double interval() const override { return 15; }
  void begin_epoch() override {}
  void show_step(const StepReport& report) override {
    if (report.step_in_epoch + 1 == plan().steps) return;  // the epoch's own line follows
    fmt::print(stderr, "{} step {} - {:.0f} examples/s - {}\n", epoch_text(), report.step_in_epoch + 1,
               examples_per_second(), metrics_text(report.running));
  }
  void end_epoch(const Logs& logs) override {
    fmt::print(stderr, "{} - {}\n", epoch_text(), epoch_end_text(elapsed(), logs));
  }
};

}  // namespace

std::shared_ptr<Callback> make_progress() {
  if (isatty(STDERR_FILENO)) return std::make_shared<ProgressBar>();
  return std::make_shared<PlainLines>();
}

}  // namespace lockstep::cli
