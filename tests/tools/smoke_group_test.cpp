#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tools/gpu_kit/smoke/group.h>
#include <unistd.h>

namespace lockstep::smoke {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// Outcomes as text, e.g. "ok NAME: text".
std::vector<std::string> outcomes_of(const std::vector<Check>& checks) {
  std::vector<std::string> outcomes;
  Group group(checks, 2s, [&](const std::string& name, const Outcome& outcome) {
    constexpr const char* kinds[] = {"ok", "failed", "skipped"};
    outcomes.push_back(std::string(kinds[static_cast<int>(outcome.kind)]) + " " + name + ": " + outcome.text);
  });
  while (group.advance()) std::this_thread::sleep_for(1ms);
  return outcomes;
}

/// Stays true for the rest of the process, like a sticky CUDA error.
bool spoiled = false;

std::string see_that_nothing_is_spoiled() {
  if (spoiled) throw std::runtime_error("spoiled");
  return "all well";
}

/// Exits before static objects of the test program are destroyed: these wait for threads that do not exist after a
/// fork.
Check last(const std::string& name) {
  return {name, [] {
            std::atexit([] { _exit(0); });
            return see_that_nothing_is_spoiled();
          }};
}

Check good(const std::string& name) { return {name, see_that_nothing_is_spoiled}; }

TEST(SmokeGroup, ContinuesAfterACheckThatFailsCrashesOrHangs) {
  EXPECT_THAT(
      outcomes_of({good("a"),
                   {"b",
                    []() -> std::string {
                      spoiled = true;
                      throw std::runtime_error("not\nright");
                    }},
                   good("c"),
                   {"d",
                    [] {
                      std::raise(SIGKILL);
                      return std::string();
                    }},
                   {"e",
                    [] {
                      pause();
                      return std::string();
                    }},
                   {"f", []() -> std::string { throw Skipped{"not here"}; }},
                   last("g")}),
      ElementsAre("ok a: all well", "failed b: not right", "ok c: all well", HasSubstr("failed d: killed by signal 9"),
                  "failed e: did not end within 2 s", "skipped f: not here", "ok g: all well"));
}

TEST(SmokeGroup, FailsWhereTheEndOfItsProcessDoes) {
  EXPECT_THAT(outcomes_of({good("a"),
                           {"b",
                            [] {
                              std::atexit([] { std::raise(SIGKILL); });
                              return std::string("seen");
                            }}}),
              ElementsAre("ok a: all well", "ok b: seen",
                          HasSubstr("failed b: killed by signal 9 (Killed) at the end of its process")));
}

}  // namespace
}  // namespace lockstep::smoke
