#include "lockstep/models/layers/dropout.h"

#include <algorithm>

#include <lockstep/kernels/random/dropout.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/strategy/core/strategy.h>

namespace lockstep {
namespace {

/// A replica's calls in training. On a cache line of its own, since only that replica's thread reads and writes it.
struct alignas(64) CallCounter {
  std::uint64_t calls = 0;
};

void list(LayerConfig& config, DropoutOptions& options) {
  config.option("rate", options.rate);
  config.fixed_null("noise_shape");
  config.passed_over("seed");
}

class DropoutImpl final : public LayerImpl {
 public:
  explicit DropoutImpl(const DropoutOptions& options)
      : LayerImpl(options.name), options_(options), rate_(static_cast<float>(options.rate)) {
    require(options.rate >= 0 && options.rate < 1, "Dropout needs a rate of at least 0 and below 1, got {}",
            options.rate);
  }

  std::string_view class_name() const override { return "Dropout"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    if (call.mode == Mode::inference) return inputs[0];
    return dropout(inputs[0], rate_, [this] { return next_key(); });
  }

  bool can_compute_in_bf16() const override { return true; }
  bool can_be_captured() const override { return true; }
  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

  std::vector<std::uint64_t> draws() const override {
    std::vector<std::uint64_t> draws;
    for (const CallCounter& counter : counters_) draws.push_back(counter.calls);
    return draws;
  }

  void set_draws(std::span<const std::uint64_t> draws) override {
    require(draws.size() == counters_.size(), "dropout '{}' has drawn on {} replica(s), got {} counts", name(),
            counters_.size(), draws.size());
    for (std::size_t replica = 0; replica < draws.size(); ++replica) counters_[replica].calls = draws[replica];
  }

 private:
  /// Of the calling replica's next mask.
  RandomKey next_key() {
    const int replica = std::max(0, current_context().replica);
    RandomKey key = key_;
    key.replica = static_cast<std::uint32_t>(current_context().first_replica + replica);
    key.step = counters_.at(static_cast<std::size_t>(replica)).calls++;
    return key;
  }

  void make_weights(std::span<const Shape>, const LayerSeed& seed) override {
    key_ = seed.key(0);
    counters_.resize(static_cast<std::size_t>(get_strategy().num_local_replicas()));
  }

  DropoutOptions options_;
  float rate_;
  RandomKey key_;
  std::vector<CallCounter> counters_;  ///< by replica
};

}  // namespace

Dropout::Dropout(const DropoutOptions& options) : Layer(std::make_shared<DropoutImpl>(options)) {}

Dropout Dropout::from_config(LayerConfig& config) { return Dropout(read_options<DropoutOptions>(config, list)); }

}  // namespace lockstep
