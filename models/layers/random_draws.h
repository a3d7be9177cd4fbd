#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/kernels/random/random_key.h>

namespace lockstep {

/// The random numbers of a layer in training: a sequence for each replica, in which every draw has its own key.
/// Each replica's number of draws is part of a run's state.
class RandomDraws {
 public:
  /// Starts sequences of this key for all replicas of this process, under the strategy whose scope is open.
  void start(const RandomKey& key);
  /// The key of the calling replica's next draw.
  RandomKey next();
  /// By replica of this process; empty before `start`.
  std::vector<std::uint64_t> counts() const;
  /// Resumes after these numbers of draws. Throws InvalidArgument for another number of replicas.
  void set_counts(std::span<const std::uint64_t> counts);

 private:
  /// On a cache line of its own, since only the replica's thread reads and writes it.
  struct alignas(64) Counter {
    std::uint64_t draws = 0;
  };

  RandomKey key_{};
  std::vector<Counter> counters_;  ///< by replica
};

}  // namespace lockstep
