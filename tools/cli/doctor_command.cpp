#include "doctor_command.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/lossy_json.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/wait_timer.h>

#include "doctor_findings.h"
#include "doctor_trials.h"
#include "wrapped_text.h"

namespace lockstep::cli {
namespace {

std::vector<Finding> examine(const DoctorOptions& options) {
  const MachineFacts facts = gather_facts();
  std::vector<Finding> findings = judge(facts);
  const std::vector<LogicalDevice> devices = default_devices();
  if (devices.front().kind == DeviceKind::gpu) std::ranges::move(try_copies(devices), std::back_inserter(findings));
  findings.push_back(try_all_reduce(devices, std::min(std::chrono::seconds(options.timeout_s), longest_timeout)));
  return findings;
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json result = nlohmann::json::array();
  for (const Finding& finding : findings)
    result.push_back({{"level", name(finding.level)},
                      {"subject", finding.subject},
                      {"text", finding.text},
                      {"remedy", finding.remedy}});
  fmt::print("{}\n", lossy_json(result));
}

void print_lines(const std::vector<Finding>& findings) {
  constexpr std::size_t text_column = 23;
  for (const Finding& finding : findings)
    fmt::print("{:<7} {:<14} {}\n", name(finding.level), finding.subject,
               wrapped(finding.remedy.empty() ? finding.text : finding.text + "\n" + finding.remedy, text_column));
}

}  // namespace

int run(const DoctorOptions& options) {
  const std::vector<Finding> findings = examine(options);
  options.json ? print_json(findings) : print_lines(findings);
  const bool broken =
      std::ranges::any_of(findings, [](const Finding& finding) { return finding.level == Finding::Level::broken; });
  return broken ? 1 : 0;
}

}  // namespace lockstep::cli
