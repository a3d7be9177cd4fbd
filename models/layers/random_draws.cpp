#include "lockstep/models/layers/random_draws.h"

#include <algorithm>

#include <lockstep/runtime/autograd/repeated_values.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {

void RandomDraws::start(const RandomKey& key) {
  key_ = key;
  counters_.resize(static_cast<std::size_t>(get_strategy().num_local_replicas()));
}

RandomKey RandomDraws::next() {
  return repeated([this] {
    const int replica = std::max(0, current_context().replica);
    RandomKey key = key_;
    key.replica = static_cast<std::uint32_t>(current_context().first_replica + replica);
    key.step = counters_.at(static_cast<std::size_t>(replica)).draws++;
    return key;
  });
}

std::vector<std::uint64_t> RandomDraws::counts() const {
  std::vector<std::uint64_t> counts;
  for (const Counter& counter : counters_) counts.push_back(counter.draws);
  return counts;
}

void RandomDraws::set_counts(std::span<const std::uint64_t> counts) {
  require(counts.size() == counters_.size(), "random numbers are drawn on {} replica(s), got {} counts",
          counters_.size(), counts.size());
  for (std::size_t replica = 0; replica < counts.size(); ++replica) counters_[replica].draws = counts[replica];
}

}  // namespace lockstep
