#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/runtime/device/registry.h>

#include "commands.h"
#include "doctor_findings.h"
#include "doctor_trials.h"
#include "replica_options.h"

namespace lockstep::cli {
namespace {

struct DoctorOptions {
  std::int64_t timeout_s = 30;
  bool json = false;
};

std::vector<Finding> examine(const DoctorOptions& options) {
  const MachineFacts facts = gather_facts();
  std::vector<Finding> findings = judge(facts);
  const std::vector<LogicalDevice> devices = default_devices();
  if (devices.front().kind == DeviceKind::gpu) std::ranges::move(try_copies(devices), std::back_inserter(findings));
  findings.push_back(try_all_reduce(devices, std::chrono::seconds(options.timeout_s)));
  return findings;
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json result = nlohmann::json::array();
  for (const Finding& finding : findings)
    result.push_back({{"level", name(finding.level)},
                      {"subject", finding.subject},
                      {"text", finding.text},
                      {"remedy", finding.remedy}});
  fmt::print("{}\n", result.dump());
}

void print_lines(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    fmt::print("{:<7} {:<14} {}{}\n", name(finding.level), finding.subject, finding.text,
               finding.remedy.empty() ? "" : "; " + finding.remedy);
}

}  // namespace

void add_doctor_command(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* const command =
      program.add_subcommand("doctor", "finds what makes training on several devices of this machine hang or crawl");
  command->add_option("--timeout", options->timeout_s, "longest time of the all-reduce, in seconds (default 30)")
      ->check(whole_number_from(1));
  command->add_flag("--json", options->json, "one JSON array on standard output");
  command->footer(
      "A line for each finding: ok, slow or BROKEN, what was found, and what to do. Exit status 1 if anything is "
      "broken.\n\nExample:\n  lockstep doctor");
  command->callback([options, &exit_code] {
    const std::vector<Finding> findings = examine(*options);
    options->json ? print_json(findings) : print_lines(findings);
    const bool broken =
        std::ranges::any_of(findings, [](const Finding& finding) { return finding.level == Finding::Level::broken; });
    if (broken) exit_code = 1;
  });
}

}  // namespace lockstep::cli
