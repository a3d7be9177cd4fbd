#include "blocks.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include <lockstep/runtime/core/error.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_ANNOUNCE_STACKS
#endif
#endif
#if defined(LOCKSTEP_ANNOUNCE_STACKS) || defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
// The search for uses of local variables after their function's return maps megabytes for each thread of a block, which
// takes two thirds of the program's time.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
// The address sanitizer's swapcontext forgets the bounds of all variables on the other stack, and takes a quarter of
// the program's time for it.
static int switch_context(ucontext_t* from, const ucontext_t* to) {
  static const auto original = reinterpret_cast<decltype(&swapcontext)>(dlsym(RTLD_NEXT, "swapcontext"));
  return original(from, to);
}
#else
// The address sanitizer must be notified of switches to other stacks.
static void __sanitizer_start_switch_fiber(void**, const void*, std::size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, std::size_t*) {}
static void __asan_unpoison_memory_region(const void*, std::size_t) {}
static int switch_context(ucontext_t* from, const ucontext_t* to) { return swapcontext(from, to); }
#endif

namespace lockstep::test {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;

Block* current_block = nullptr;

}  // namespace

Block::Block(int threads, unsigned& running)
    : threads_(static_cast<std::size_t>(threads)), turns_(threads_.size()), running_(running) {
  std::iota(turns_.begin(), turns_.end(), 0);
  for (Thread& thread : threads_) thread.stack = std::make_unique<std::byte[]>(stack_bytes);
}

Block& Block::current() { return *current_block; }

void Block::run(const std::function<void()>& body) {
  body_ = &body;
  current_block = this;
  for (Thread& thread : threads_) prepare(thread);
  while (!all_are(State::ended, 0, threads_.size())) {
    std::ranges::shuffle(turns_, random_);
    bool some_ran = false;
    for (const std::size_t thread : turns_) {
      // Delays some threads, since warps do not run at the same pace.
      if (threads_[thread].state != State::ready || (some_ran && random_() % 8 == 0)) continue;
      resume(thread);
      some_ran = true;
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    require<LogicError>(some_ran, "threads wait at a barrier that others of their block or warp have ended without");
    release();
  }
}

void Block::prepare(Thread& thread) {
  thread.state = State::ready;
  thread.sanitizer_stack = nullptr;
  __asan_unpoison_memory_region(thread.stack.get(), stack_bytes);  // from the variables of the last run
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = stack_bytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, &Block::start_thread, 0);
}

void Block::start_thread() {
  Block& block = *current_block;
  __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_stack_, &block.scheduler_stack_bytes_);
  try {
    (*block.body_)();
  } catch (...) {
    block.error_ = std::current_exception();
  }
  Thread& self = block.threads_[block.running_];
  self.state = State::ended;
  __sanitizer_start_switch_fiber(nullptr, block.scheduler_stack_, block.scheduler_stack_bytes_);
  setcontext(&block.scheduler_);
}

void Block::resume(std::size_t thread) {
  running_ = static_cast<unsigned>(thread);
  Thread& next = threads_[thread];
  void* own_stack = nullptr;
  __sanitizer_start_switch_fiber(&own_stack, next.stack.get(), stack_bytes);
  switch_context(&scheduler_, &next.context);
  __sanitizer_finish_switch_fiber(own_stack, nullptr, nullptr);
}

void Block::wait(State at) {
  Thread& self = threads_[running_];
  self.state = at;
  __sanitizer_start_switch_fiber(&self.sanitizer_stack, scheduler_stack_, scheduler_stack_bytes_);
  switch_context(&self.context, &scheduler_);
  __sanitizer_finish_switch_fiber(self.sanitizer_stack, &scheduler_stack_, &scheduler_stack_bytes_);
}

void Block::release() {
  const auto let_go = [&](std::size_t first, std::size_t end) {
    for (std::size_t thread = first; thread < end; ++thread) threads_[thread].state = State::ready;
  };
  if (all_are(State::at_block_barrier, 0, threads_.size())) let_go(0, threads_.size());
  for (std::size_t first = 0; first < threads_.size(); first += warp)
    if (all_are(State::at_warp_barrier, first, first + warp)) let_go(first, first + warp);
}

bool Block::all_are(State state, std::size_t first, std::size_t end) const {
  return std::all_of(threads_.begin() + static_cast<std::ptrdiff_t>(first),
                     threads_.begin() + static_cast<std::ptrdiff_t>(end),
                     [state](const Thread& thread) { return thread.state == state; });
}

}  // namespace lockstep::test
