#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/kernels/random/random_key.h>

namespace lockstep {

/// The keys of a layer's random numbers in training: a sequence for each replica, with one key per draw. Each replica's
/// number of draws is part of the state of a training run.
class RandomDraws {
 public:
  /// Starts a sequence from this key for each replica of this process. The strategy in scope determines the replicas.
  void start(const RandomKey& key);
  /// The key of the calling replica's next draw; outside replicas, of the next draw of this process's first replica.
  /// When recompute_grad calls its function again, the function gets the keys of its first call.
  RandomKey next();
  /// The number of draws, by replica of this process; empty before `start`.
  std::vector<std::uint64_t> counts() const;
  /// Sets the numbers of draws, by replica of this process, from which the sequences continue. Throws InvalidArgument
  /// unless `counts` has one number for each replica of this process.
  void set_counts(std::span<const std::uint64_t> counts);

 private:
  /// On its own cache line, to avoid false sharing: each replica thread uses only its own counter.
  struct alignas(64) Counter {
    std::uint64_t draws = 0;
  };

  RandomKey key_{};
  std::vector<Counter> counters_;  ///< one for each replica of this process
};

}  // namespace lockstep
