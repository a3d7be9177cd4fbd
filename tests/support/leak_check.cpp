// For worker programs under the address sanitizer, which checks for leaks when a program has ended. By then MPI has
// unloaded libraries, whose leaks can no longer be distinguished from others, so this checks after the last test.

#include <gtest/gtest.h>
#include <sanitizer/lsan_interface.h>

namespace lockstep::test {
namespace {

class LeakCheck : public testing::Environment {
 public:
  void TearDown() override { __lsan_do_leak_check(); }  // ends the program if it finds a leak
};

[[maybe_unused]] testing::Environment* const leak_check = testing::AddGlobalTestEnvironment(new LeakCheck());

}  // namespace
}  // namespace lockstep::test
