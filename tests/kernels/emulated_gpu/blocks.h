#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <ucontext.h>

namespace lockstep::test {

/// A block of a GPU's threads that take turns on one thread of the host: each runs up to a barrier, in an order that
/// changes at random, the same in each run of a program. What needs a barrier that is not there therefore goes wrong
/// sooner or later, as on a GPU, but not by chance.
class Block {
 public:
  /// Threads that warp barriers are for.
  static constexpr int warp = 32;

  /// `threads` is a multiple of `warp`; `running` is set to the number of the thread that runs.
  Block(int threads, unsigned& running);

  /// Runs body() as each of its threads. Throws what body throws, and LogicError for a barrier that threads wait at and
  /// others never reach.
  void run(const std::function<void()>& body);

  /// The one that runs. For its threads.
  static Block& current();
  ///@{
  /// For a thread: returns when all threads of the block, or of its warp, have come here.
  void wait_for_block() { wait(State::at_block_barrier); }
  void wait_for_warp() { wait(State::at_warp_barrier); }
  ///@}

 private:
  enum class State { ready, at_block_barrier, at_warp_barrier, ended };
  struct Thread {
    State state = State::ready;
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{};
    void* sanitizer_stack = nullptr;  ///< what the address sanitizer keeps of it meanwhile
  };

  static void start_thread();
  void prepare(Thread& thread);
  void resume(std::size_t thread);
  void wait(State at);
  /// Releases those that have all arrived.
  void release();
  bool all_are(State state, std::size_t first, std::size_t end) const;

  std::vector<Thread> threads_;
  std::vector<std::size_t> turns_;
  std::minstd_rand random_{1};
  const std::function<void()>* body_ = nullptr;
  unsigned& running_;
  ucontext_t scheduler_{};
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
  std::exception_ptr error_{};
};

}  // namespace lockstep::test
