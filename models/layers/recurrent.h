#pragma once

#include <cstdint>
#include <utility>

#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/naming.h>

// Shared by the recurrent layers, LSTM and GRU.

namespace lockstep {

/// The ops of a recurrent layer; arguments are x, kernel, recurrent kernel and bias.
struct RecurrentOps {
  /// Used for Keras' default options; the last argument is return_sequences.
  Tensor (*usual)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool);
  /// Used for all other options.
  Tensor (*composed)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const RecurrenceOptions&);
};

/// Lists the options of a recurrent layer, and Keras' options that are not supported.
template <class Options>
void list_recurrent(LayerConfig& config, Options& options) {
  config.option("return_sequences", options.return_sequences);
  config.option("go_backwards", options.go_backwards);
  for (const char* key : {"return_state", "stateful"}) config.fixed(key, false);
  config.option("units", options.units);
  config.option("activation", options.activation);
  config.option("recurrent_activation", options.recurrent_activation);
  config.option("use_bias", options.use_bias);
  config.option("kernel_initializer", options.kernel_initializer);
  config.option("recurrent_initializer", options.recurrent_initializer);
  config.option("bias_initializer", options.bias_initializer);
  if constexpr (requires { options.unit_forget_bias; })
    config.option("unit_forget_bias", options.unit_forget_bias);
  else
    config.option("reset_after", options.reset_after);
  config.option("kernel_regularizer", options.kernel_regularizer);
  config.option("recurrent_regularizer", options.recurrent_regularizer);
  config.option("bias_regularizer", options.bias_regularizer);
  config.fixed_null("activity_regularizer");
  config.option("kernel_constraint", options.kernel_constraint);
  config.option("recurrent_constraint", options.recurrent_constraint);
  config.option("bias_constraint", options.bias_constraint);
  for (const char* key : {"dropout", "recurrent_dropout"}) config.fixed(key, 0.0);
  // zero_output_for_mask has no effect, since there are no masks.
  for (const char* key : {"unroll", "seed", "implementation", "zero_output_for_mask"}) config.passed_over(key);
}

/// A recurrent layer with the weights kernel (features, gates * units), recurrent_kernel (units, gates * units) and
/// bias. `Options` is the type of the layer's options.
template <class Options>
class RecurrentImpl : public LayerImpl {
 public:
  /// Throws InvalidArgument for units below 1.
  RecurrentImpl(const char* class_name, RecurrentOps ops, int gates, const Shape& bias_shape, const Options& options)
      : LayerImpl(options.name),
        class_name_(class_name),
        ops_(ops),
        gates_(gates),
        bias_shape_(bias_shape),
        options_(options) {
    require(options.units >= 1, "{} needs at least 1 unit, got {}", class_name, options.units);
  }

  std::string_view class_name() const override { return class_name_; }
  /// Keras stores the weights in the recurrent layer's cell, a layer of one time step.
  std::vector<WeightsPart> weights_parts() const override {
    return {{.group = "cell/vars", .name = snake_case(class_name_) + "_cell", .count = variables().size()}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name_, inputs);
    require(input.rank() == 2, "{} takes sequences (time, features), got {}", class_name_, input);
    require(!is_built() || input[1] == kernel_.shape()[0], "{} '{}' was built for {} features, got {}", class_name_,
            name(), is_built() ? kernel_.shape()[0] : 0, input);
    return options_.return_sequences ? Shape{input[0], options_.units} : Shape{options_.units};
  }

  /// x (n, time, features) -> (n, time, units) with return_sequences, else (n, units).
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const RecurrenceOptions options = formula();
    if (options_.use_bias && options == RecurrenceOptions{.return_sequences = options.return_sequences})
      return ops_.usual(inputs[0], kernel_.value(), recurrent_kernel_.value(), bias_.value(), options.return_sequences);
    const Tensor bias = options_.use_bias ? bias_.value() : Tensor();
    return ops_.composed(inputs[0], kernel_.value(), recurrent_kernel_.value(), bias, options);
  }

  void describe(LayerConfig& config) const override { write_options(config, list_recurrent<Options>, options_); }

 private:
  RecurrenceOptions formula() const {
    RecurrenceOptions formula{.activation = options_.activation,
                              .recurrent_activation = options_.recurrent_activation,
                              .go_backwards = options_.go_backwards,
                              .return_sequences = options_.return_sequences};
    if constexpr (requires { options_.reset_after; }) formula.reset_after = options_.reset_after;
    return formula;
  }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const std::int64_t sums = gates_ * options_.units;
    kernel_ = add_weight(
        {.name = "kernel", .shape = {inputs[0][1], sums}, .initializer = options_.kernel_initializer(seed.key(0))},
        options_.kernel_regularizer, options_.kernel_constraint);
    recurrent_kernel_ = add_weight({.name = "recurrent_kernel",
                                    .shape = {options_.units, sums},
                                    .initializer = options_.recurrent_initializer(seed.key(1))},
                                   options_.recurrent_regularizer, options_.recurrent_constraint);
    if (!options_.use_bias) return;
    bias_ = add_weight({.name = "bias", .shape = bias_shape_, .initializer = options_.bias_initializer(seed.key(2))},
                       options_.bias_regularizer, options_.bias_constraint);
  }

  const char* class_name_;
  RecurrentOps ops_;
  int gates_;
  Shape bias_shape_;
  Options options_;
  Variable kernel_;
  Variable recurrent_kernel_;
  Variable bias_;
};

}  // namespace lockstep
