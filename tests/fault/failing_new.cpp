#include "failing_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace lockstep::test {
namespace {

std::atomic<std::int64_t> latest = 0;  ///< number of the latest request, for which a thread's counts are valid
std::atomic<bool> has_failed = false;
thread_local std::int64_t request = -1;
thread_local std::int64_t until_first = 0;
thread_local std::int64_t failures_left = 0;

bool this_one_fails() {
  if (request != latest) return false;
  if (--until_first > 0 || failures_left == 0) return false;
  --failures_left;
  has_failed = true;
  return true;
}

void* allocate(std::size_t bytes) noexcept { return this_one_fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes); }

}  // namespace

void fail_allocations_of_this_thread(std::int64_t first, std::int64_t failures) {
  until_first = first;
  failures_left = failures;
  has_failed = false;
  request = ++latest;
}

void stop_failing_allocations() { ++latest; }

bool an_allocation_has_failed() { return has_failed; }

}  // namespace lockstep::test

// Replaces all forms of new and delete, so that none is the sanitizer's own, which would report a mismatch.

void* operator new(std::size_t bytes) {
  void* const memory = lockstep::test::allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return lockstep::test::allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return lockstep::test::allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

#ifdef LOCKSTEP_SANITIZED
/// oneDNN leaks memory when one of its own allocations fails.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: the leak sanitizer's name
const char* __lsan_default_suppressions() { return "leak:libdnnl\n"; }
#endif
