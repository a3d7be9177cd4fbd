#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <ucontext.h>

namespace lockstep::test {

/// Emulates a thread block on one host thread. The GPU threads run one after another, each up to a barrier, in a
/// pseudorandom order that is the same in each run of a program. Code that lacks a barrier therefore fails sooner or
/// later, as on a GPU, but reproducibly.
class Block {
 public:
  /// Number of threads that a warp barrier synchronizes.
  static constexpr int warp = 32;

  /// `threads`: a multiple of `warp`. `running` is set to the index of the running thread.
  Block(int threads, unsigned& running);

  /// Runs body() in each thread. Rethrows its exceptions, and throws LogicError if some threads wait at a barrier that
  /// others never reach.
  void run(const std::function<void()>& body);

  /// The running block. Called by its threads.
  static Block& current();
  ///@{
  /// Called by a thread. Return when all threads of the block, or of the thread's warp, have reached the barrier.
  void wait_for_block() { wait(State::at_block_barrier); }
  void wait_for_warp() { wait(State::at_warp_barrier); }
  ///@}

 private:
  enum class State { ready, at_block_barrier, at_warp_barrier, ended };
  struct Thread {
    State state = State::ready;
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack{};
    void* sanitizer_stack = nullptr;  ///< the address sanitizer's state of the stack while the thread is suspended
  };

  static void start_thread();
  void prepare(Thread& thread);
  void resume(std::size_t thread);
  void wait(State at);
  /// Releases the threads at a barrier that all have reached.
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
