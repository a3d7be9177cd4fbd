#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace lockstep::test {

/// A stream of a pretended GPU whose work is done as late as it can be: when something waits for it.
class PretendGpuStream {
 public:
  /// One more piece of work, which is done after those before it.
  void enqueue(std::function<void()> work);
  /// Whether work is done as early as it can be instead: when it comes. Precondition: none waits.
  void hurry(bool on);
  /// How many pieces it has been given.
  std::size_t given() const;
  /// How many of them are done.
  std::size_t done() const;
  /// Does the first `count` pieces, unless they are done.
  void finish(std::size_t count);

 private:
  std::mutex turn_;           ///< of the work
  mutable std::mutex mutex_;  ///< of what follows
  std::deque<std::function<void()>> waiting_;
  std::size_t done_ = 0;
  bool hurries_ = false;
};

}  // namespace lockstep::test
