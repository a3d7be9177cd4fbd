#include "lockstep/models/optimizers/muon.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/linear_algebra/norm.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>
#include <lockstep/runtime/core/lower_case.h>

namespace lockstep {
namespace {

std::regex expression(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    fail("exclude_layers of Muon has {:?}, which is not a regular expression: {}", text, error.what());
  }
}

class OrthogonalMomentum final : public Optimizer::Rule {
 public:
  explicit OrthogonalMomentum(const MuonOptions& options) : options_(options) {
    require(0 <= options.adam_beta_1 && options.adam_beta_1 < 1 && 0 <= options.adam_beta_2 && options.adam_beta_2 < 1,
            "the betas of Muon must lie in [0, 1), got {} and {}", options.adam_beta_1, options.adam_beta_2);
    require(options.epsilon > 0, "the epsilon of Muon must be positive, got {}", options.epsilon);
    require(std::isfinite(options.adam_weight_decay) && options.adam_weight_decay >= 0,
            "the adam_weight_decay of Muon must be finite and not negative, got {}", options.adam_weight_decay);
    require(0 <= options.momentum && options.momentum <= 1, "the momentum of Muon must lie in [0, 1], got {}",
            options.momentum);
    require(options.ns_steps >= 0, "the ns_steps of Muon must not be negative, got {}", options.ns_steps);
    for (const std::string& text : options.exclude_layers) excluded_.push_back(expression(text));
  }

  ObjectConfig config() const override {
    const ObjectConfig own = config_of("Muon", options_);
    nlohmann::ordered_json options = *own.options;
    options["exclude_layers"] = options_.exclude_layers;
    if (!options_.rms_rate) options["rms_rate"] = nullptr;  // Keras' default is a number
    return {own.class_name, ObjectConfig::copy_of(options)};
  }
  std::vector<Slot> slots() const override {
    return {{.name = "momentum"}, {.name = "velocity", .beside_previous = true}};
  }
  bool keeps(const Slot& slot, const Variable& variable) const override {
    return slot.name == "momentum" || is_for_adam(variable);
  }
  double weight_decay(const Variable& variable, double common) const override {
    return is_for_adam(variable) ? options_.adam_weight_decay : common;
  }

  bool computes_variables() const override { return true; }
  void compute(VariableStep& step) const override {
    if (step.keeps[1]) return adam_step(step);  // has a velocity
    const Tensor& g = step.gradient;
    Tensor& m = step.slots[0];
    m = m + (g + m * (options_.momentum - 1));
    const Tensor direction = orthogonal(options_.nesterov ? g + m * options_.momentum : m);
    double rate = step.learning_rate;
    const auto side = static_cast<double>(std::max(step.value.shape()[0], step.value.shape()[1]));
    if (options_.rms_rate) rate *= *options_.rms_rate * std::sqrt(side);
    step.value = step.value - direction * rate;
  }

 private:
  bool is_for_adam(const Variable& variable) const {
    if (variable.shape().rank() != 2) return true;
    const std::string& name = variable.name();
    if (options_.exclude_embeddings && lower_case(name).find("embedding") != std::string::npos) return true;
    return std::ranges::any_of(excluded_, [&](const std::regex& part) { return std::regex_search(name, part); });
  }

  /// Works in place, since the step's tensors are copies.
  void adam_step(VariableStep& step) const {
    const AdamStep adam{.learning_rate = static_cast<float>(step.learning_rate * options_.adam_lr_ratio),
                        .beta_1 = options_.adam_beta_1,
                        .beta_2 = options_.adam_beta_2,
                        .epsilon = static_cast<float>(options_.epsilon),
                        .t = step.t};
    const float* const gradient = step.gradient.data<float>();
    float* const value = step.value.data<float>();
    float* const slots[] = {step.slots[0].data<float>(), step.slots[1].data<float>()};
    launch(kernels::Update{adam, {std::span(&gradient, 1), std::span(&value, 1), slots, step.value.elements()}});
  }

  /// Keras' zeropower_via_newtonschulz5.
  Tensor orthogonal(const Tensor& matrix) const {
    const bool is_tall = matrix.shape()[0] > matrix.shape()[1];
    Tensor x = is_tall ? transpose(matrix) : matrix;
    x = x / (norm(x) + 1e-7);
    for (int i = 0; i < options_.ns_steps; ++i) {
      const Tensor square = matmul(x, transpose(x));
      x = x * options_.muon_a + matmul(square * options_.muon_b + matmul(square * options_.muon_c, square), x);
    }
    return is_tall ? transpose(x) : x;
  }

  MuonOptions options_;
  std::vector<std::regex> excluded_;
};

}  // namespace

void MuonOptions::describe(OptionVisitor& visitor) {
  visitor.option("adam_beta_1", adam_beta_1);
  visitor.option("adam_beta_2", adam_beta_2);
  visitor.option_or("adam_weight_decay", adam_weight_decay, 0);
  visitor.option("epsilon", epsilon);
  visitor.passed_over("exclude_layers");  // a list of strings: config() and from_config() handle it
  visitor.option("exclude_embeddings", exclude_embeddings);
  visitor.option("muon_a", muon_a);
  visitor.option("muon_b", muon_b);
  visitor.option("muon_c", muon_c);
  visitor.option("adam_lr_ratio", adam_lr_ratio);
  visitor.option("momentum", momentum);
  visitor.option("ns_steps", ns_steps);
  visitor.option("nesterov", nesterov);
  visitor.option("rms_rate", rms_rate);
}

Muon::Muon(const MuonOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<OrthogonalMomentum>(options),
                with_own_decay("Muon", common, options.weight_decay)) {}

Muon Muon::from_config(const OptimizerConfig& config) {
  MuonOptions options = read_options<MuonOptions>(config);
  OptimizerOptions common = config.common;
  options.weight_decay = std::exchange(common.weight_decay, 0);
  nlohmann::ordered_json layers = config.rule.options->value("exclude_layers", nlohmann::ordered_json());
  if (layers.is_null()) layers = nlohmann::ordered_json::array();
  const auto is_string = [](const auto& layer) { return layer.is_string(); };
  require<InputError>(layers.is_array() && std::ranges::all_of(layers, is_string),
                      "the optimizer Muon: exclude_layers cannot be {}; it must be a list of strings", layers.dump());
  options.exclude_layers = layers.get<std::vector<std::string>>();
  return Muon(options, common);
}

}  // namespace lockstep
