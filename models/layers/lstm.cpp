#include <algorithm>

#include <lockstep/kernels/ops/lstm.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/lstm.h>

namespace lockstep {
namespace {

/// 0, but 1 for the forget gate, which is the second of four.
Initializer forget_ones() {
  return [](const Tensor& values) {
    const std::span<float> all = values.span<float>();
    std::ranges::fill(all, 0.0F);
    std::ranges::fill(all.subspan(all.size() / 4, all.size() / 4), 1.0F);
  };
}

class LstmImpl final : public LayerImpl {
 public:
  explicit LstmImpl(const LstmOptions& options)
      : LayerImpl(options.name),
        units_(options.units),
        return_sequences_(options.return_sequences),
        unit_forget_bias_(options.unit_forget_bias) {
    require(units_ >= 1, "LSTM needs at least 1 unit, got {}", units_);
  }

  std::string_view class_name() const override { return "LSTM"; }
  std::string_view weights_group() const override { return "cell/vars"; }  // Keras' LSTM runs a layer LSTMCell

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() == 2, "LSTM takes sequences (time, features), got {}", input);
    require(!is_built() || input[1] == kernel_.shape()[0], "LSTM '{}' was built for {} features, got {}", name(),
            is_built() ? kernel_.shape()[0] : 0, input);
    return return_sequences_ ? Shape{input[0], units_} : Shape{units_};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return lstm(inputs[0], kernel_.value(), recurrent_kernel_.value(), bias_.value(), return_sequences_);
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const std::int64_t gates = 4 * units_;
    kernel_ =
        add_weight({.name = "kernel", .shape = {inputs[0][1], gates}, .initializer = glorot_uniform(seed.key(0))});
    recurrent_kernel_ =
        add_weight({.name = "recurrent_kernel", .shape = {units_, gates}, .initializer = orthogonal(seed.key(1))});
    bias_ =
        add_weight({.name = "bias", .shape = Shape{gates}, .initializer = unit_forget_bias_ ? forget_ones() : zeros()});
  }

  std::int64_t units_;
  bool return_sequences_;
  bool unit_forget_bias_;
  Variable kernel_;
  Variable recurrent_kernel_;
  Variable bias_;
};

}  // namespace

LSTM::LSTM(const LstmOptions& options) : Layer(std::make_shared<LstmImpl>(options)) {}

}  // namespace lockstep
