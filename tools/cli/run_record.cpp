#include "run_record.h"

#include <fstream>
#include <string>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace lockstep::cli {

void RunRecord::on_epoch_begin(Model&, const EpochPlan& plan) { resumed_ |= plan.resumed; }

void RunRecord::on_train_batch_end(Model&, const StepReport& report) {
  if (steps_.empty()) time_to_first_step_s_ = process_age_s();
  steps_.push_back(report);
  losses_.push_back(static_cast<float>(report.loss));
}

void RunRecord::on_epoch_end(Model&, int, const Logs&) { end_epoch(); }

void RunRecord::on_stop(Model&, const TrainingProgress&) { end_epoch(); }

void RunRecord::end_epoch() {
  const auto steps = static_cast<float>(losses_.size());
  if (steps > (epoch_ends_.empty() ? 0 : epoch_ends_.back())) epoch_ends_.push_back(steps);
}

CallbackState RunRecord::state() const {
  CallbackState state{.values = {{"steps", static_cast<double>(losses_.size())}, {"seed", static_cast<double>(seed_)}}};
  for (const std::vector<float>* list : {&losses_, &epoch_ends_})
    if (!list->empty()) state.tensors.push_back(Tensor::from(*list, {static_cast<std::int64_t>(list->size())}));
  return state;
}

void RunRecord::load_state(const CallbackState& state) {
  if (const auto seed = state.values.find("seed"); seed != state.values.end())
    require(seed->second == static_cast<double>(seed_),
            "--seed {}: the run to resume has the seed {:.0f}; use that one", seed_, seed->second);
  const std::vector<Tensor>& lists = state.tensors;
  losses_ = lists.empty() ? std::vector<float>() : lists.front().to_vector<float>();
  epoch_ends_ = lists.size() < 2 ? std::vector<float>() : lists.back().to_vector<float>();
}

double process_age_s() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  // Field 22 is the start time in ticks since boot. Count after the program's name, whose parentheses may contain
  // spaces.
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22; ++field) at = text.find(' ', at + 1);
  const double started = std::stod(text.substr(at)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - started;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace lockstep::cli
