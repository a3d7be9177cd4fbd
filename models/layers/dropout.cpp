#include "lockstep/models/layers/dropout.h"

#include <lockstep/kernels/random/dropout.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, DropoutOptions& options) {
  config.option("rate", options.rate);
  config.fixed_null("noise_shape");
  config.passed_over("seed");
}

class DropoutImpl final : public LayerImpl {
 public:
  explicit DropoutImpl(const DropoutOptions& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true}),
        options_(options),
        rate_(static_cast<float>(options.rate)) {
    require(options.rate >= 0 && options.rate < 1, "Dropout needs a rate of at least 0 and below 1, got {}",
            options.rate);
  }

  std::string_view class_name() const override { return "Dropout"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    if (call.mode == Mode::inference) return inputs[0];
    return dropout(inputs[0], rate_, [this] { return draws_.next(); });
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

  RandomDraws* random_draws() override { return &draws_; }

 private:
  void make_weights(std::span<const Shape>, const LayerSeed& seed) override { draws_.start(seed.key(0)); }

  DropoutOptions options_;
  float rate_;
  RandomDraws draws_;
};

}  // namespace

Dropout::Dropout(const DropoutOptions& options) : Layer(std::make_shared<DropoutImpl>(options)) {}

Dropout Dropout::from_config(LayerConfig& config) { return Dropout(read_options<DropoutOptions>(config, list)); }

}  // namespace lockstep
