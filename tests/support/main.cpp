// The main function of all test programs: runs GoogleTest, with a watchdog for each test if ctest sets a limit.

#include <cstdlib>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/watchdog.h>

namespace lockstep::test {
namespace {

class LimitEachTest : public testing::EmptyTestEventListener {
 public:
  explicit LimitEachTest(std::chrono::seconds limit) : limit_(limit) {}
  void OnTestStart(const testing::TestInfo& test) override {
    watchdog_.emplace(std::string(test.test_suite_name()) + "." + test.name(), limit_);
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { watchdog_.reset(); }

 private:
  std::chrono::seconds limit_;
  std::optional<Watchdog> watchdog_;
};

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  setenv("LOCKSTEP_CHECK_CONTRACTS", "1", 0);  // runtime/device/contracts.h
  testing::InitGoogleMock(&argc, argv);
  // Set by lockstep_test, below ctest's own limit; not set when a person runs the program, e.g. in a debugger.
  if (const char* limit_s = std::getenv("LOCKSTEP_TEST_LIMIT_S"))
    testing::UnitTest::GetInstance()->listeners().Append(
        new lockstep::test::LimitEachTest(std::chrono::seconds(std::stoi(limit_s))));  // GoogleTest deletes it
  return RUN_ALL_TESTS();
}
