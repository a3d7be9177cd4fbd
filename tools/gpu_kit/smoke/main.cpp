// gpu_smoke: checks the library's assumptions about CUDA, cuBLASLt, cuDNN and NCCL one call at a time, and compares
// results with those computed on the host.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>

#include "check.h"
#include "group.h"

namespace lockstep::smoke {
namespace {

constexpr int no_gpu_status = 2;

/// All checks, grouped by subject.
std::vector<std::vector<Check>> all_checks() {
  return {cuda_checks(),       graph_checks(),        cublas_checks(), convolution_checks(), attention_checks(),
          recurrence_checks(), tensor_float_checks(), nccl_checks(),   library_checks()};
}

/// Splits checks into groups that may run concurrently, followed by the checks that measure time, which run alone.
std::vector<std::vector<Check>> in_groups(const std::vector<std::vector<Check>>& subjects,
                                          const std::vector<std::string>& only) {
  std::vector<std::vector<Check>> groups;
  std::vector<std::vector<Check>> timed;
  for (const std::vector<Check>& subject : subjects) {
    std::vector<Check> group;
    for (const Check& check : subject) {
      if (!only.empty() && std::ranges::find(only, check.name) == only.end()) continue;
      if (check.alone)
        timed.push_back({check});
      else
        group.push_back(check);
    }
    if (!group.empty()) groups.push_back(group);
  }
  std::ranges::move(timed, std::back_inserter(groups));
  return groups;
}

void print(const std::string& name, const Outcome& outcome) {
  constexpr const char* words[] = {"ok", "FAILED", "skipped"};
  fmt::print("{} {}: {}\n", words[static_cast<int>(outcome.kind)], name, outcome.text);
  std::fflush(stdout);
}

void advance(std::list<Group>& running) {
  running.remove_if([](Group& group) { return !group.advance(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Runs the groups, `jobs` at a time. Returns whether a check failed.
bool run(const std::vector<std::vector<Check>>& groups, std::size_t jobs, std::chrono::seconds limit) {
  bool failed = false;
  const auto report = [&](const std::string& name, const Outcome& outcome) {
    print(name, outcome);
    failed |= outcome.kind == Outcome::Kind::failed;
  };
  std::list<Group> running;
  for (const std::vector<Check>& group : groups) {
    while (running.size() >= (group.front().alone ? 1 : jobs)) advance(running);
    running.emplace_back(group, limit, report);
  }
  while (!running.empty()) advance(running);
  return failed;
}

/// Prints the name of the first GPU, or that there is none. Returns a nonzero status if there is nothing to check.
int show_device(std::chrono::seconds limit) {
  int status = 0;
  std::list<Group> running;
  running.emplace_back(std::vector{device_check()}, limit, [&](const std::string& name, const Outcome& outcome) {
    if (outcome.kind == Outcome::Kind::skipped)
      fmt::print("no GPU: {}\n", outcome.text);
    else
      print(name, outcome);
    if (outcome.kind != Outcome::Kind::ok) status = outcome.kind == Outcome::Kind::failed ? 1 : no_gpu_status;
  });
  while (!running.empty()) advance(running);
  return status;
}

int main_of(int argc, char** argv) {
  const std::vector<std::vector<Check>> all = all_checks();
  std::vector<std::string> names;
  for (const std::vector<Check>& subject : all)
    for (const Check& check : subject) names.push_back(check.name);
  CLI::App program("Checks on the first GPU, one by one, what lockstep assumes about CUDA, cuBLASLt, cuDNN and NCCL.");
  bool list = false;
  std::vector<std::string> only;
  std::size_t jobs = 4;
  std::int64_t limit_s = 30;
  program.add_flag("--list", list, "print the names of the checks");
  program.add_option("--only", only, "run only these checks")->check(CLI::IsMember(names));
  program.add_option("--jobs", jobs, "number of subjects that are checked concurrently (default 4)")
      ->check(CLI::Range(1, 64));
  program.add_option("--limit", limit_s, "longest time of a check, in seconds (default 30)")->check(CLI::Range(1, 600));
  CLI11_PARSE(program, argc, argv);
  if (list) {
    for (const std::string& name : names) fmt::print("{}\n", name);
    return 0;
  }
  const std::chrono::seconds limit(limit_s);
  if (const int status = show_device(limit); status != 0) return status;
  return run(in_groups(all, only), jobs, limit) ? 1 : 0;
}

}  // namespace
}  // namespace lockstep::smoke

int main(int argc, char** argv) {
  try {
    return lockstep::smoke::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_smoke: {}\n", error.what());
    return 1;
  }
}
