// For programs of workers under the address sanitizer, which looks for leaks when a program has ended. MPI unloads
// libraries before that, whose leaks cannot be distinguished from others then: this looks after the last test.

#include <gtest/gtest.h>
#include <sanitizer/lsan_interface.h>

namespace lockstep::test {
namespace {

class LeakCheck : public testing::Environment {
 public:
  void TearDown() override { __lsan_do_leak_check(); }  // ends the program if there is one
};

[[maybe_unused]] testing::Environment* const leak_check = testing::AddGlobalTestEnvironment(new LeakCheck());

}  // namespace
}  // namespace lockstep::test
