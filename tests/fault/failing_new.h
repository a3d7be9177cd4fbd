#pragma once

#include <cstdint>

// The operator new of the test program, which a thread can make fail.

namespace lockstep::test {

/// From now on allocation number `first` of the calling thread, from 1, and the `failures` - 1 after it throw
/// std::bad_alloc.
void fail_allocations_of_this_thread(std::int64_t first, std::int64_t failures);
/// Ends it, for the thread that requested it. Not while that thread works.
void stop_failing_allocations();
/// Whether one has failed since the last fail_allocations_of_this_thread.
bool an_allocation_has_failed();

}  // namespace lockstep::test
