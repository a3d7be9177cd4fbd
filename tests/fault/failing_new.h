#pragma once

#include <cstdint>

// Replaces operator new in the test program, so that a thread can make it fail.

namespace lockstep::test {

/// From now on the calling thread's allocations `first` (counted from 1) to `first` + `failures` - 1 throw
/// std::bad_alloc.
void fail_allocations_of_this_thread(std::int64_t first, std::int64_t failures);
/// Stops failing allocations of the thread that requested them. Must not be called while that thread works.
void stop_failing_allocations();
/// Whether an allocation has failed since the last fail_allocations_of_this_thread.
bool an_allocation_has_failed();

}  // namespace lockstep::test
