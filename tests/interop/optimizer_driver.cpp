// The lockstep side of the comparison of optimizers and constraints; keras_optimizers.py runs this program and compares
// the results.
//   optimizer_driver CASE REPLICAS GRADIENTS OUTPUTS   takes a step with each row of gradients, writes the parameters
//   optimizer_driver SCHEDULE STEPS OUTPUTS            writes the learning rates of the first steps, as f64
// GRADIENTS and OUTPUTS are f32, little-endian, without a header; a row has the gradients of all variables.

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/optimizers/adadelta.h>
#include <lockstep/models/optimizers/adafactor.h>
#include <lockstep/models/optimizers/adagrad.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/adamax.h>
#include <lockstep/models/optimizers/ftrl.h>
#include <lockstep/models/optimizers/lamb.h>
#include <lockstep/models/optimizers/lion.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/models/optimizers/nadam.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

// keras_optimizers.py has the same cases.

Optimizer make_optimizer(const std::string& name) {
  const std::map<std::string, std::function<Optimizer()>> cases{
      {"sgd", [] { return SGD({.learning_rate = 0.1}); }},
      {"momentum", [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }},
      {"nesterov", [] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}); }},
      {"adam", [] { return Adam({.learning_rate = 0.01}); }},
      {"amsgrad", [] { return Adam({.learning_rate = 0.01, .amsgrad = true}); }},
      {"adamw", [] { return AdamW({.learning_rate = 0.01}); }},
      {"rmsprop", [] { return RMSprop({.learning_rate = 0.01, .momentum = 0.9}); }},
      {"centered", [] { return RMSprop({.learning_rate = 0.01, .epsilon = 1e-3, .centered = true}); }},
      {"adagrad", [] { return Adagrad({.learning_rate = 0.1}); }},
      {"lamb", [] { return Lamb({.learning_rate = 0.01}); }},
      {"lion", [] { return Lion({.learning_rate = 0.01}, {.weight_decay = 0.1}); }},
      {"nadam", [] { return Nadam({.learning_rate = 0.01}); }},
      {"muon", [] { return Muon({.learning_rate = 0.01}); }},
      {"muon_with_all",
       [] {
         return Muon(
             {.learning_rate = 0.01, .adam_weight_decay = 0.1, .ns_steps = 2, .nesterov = false, .rms_rate = {}},
             {.exclude_from_weight_decay = {"bias"}, .clipnorm = 0.5, .use_ema = true});
       }},
      {"adamax", [] { return Adamax({.learning_rate = 0.01}); }},
      {"adadelta", [] { return Adadelta({.learning_rate = 1}); }},
      {"adafactor", [] { return Adafactor({.learning_rate = 0.05}); }},
      {"adafactor_with_all",
       [] {
         return Adafactor(
             {.learning_rate = 0.05, .beta_2_decay = -0.5, .epsilon_1 = 1e-6, .epsilon_2 = 0.5, .clip_threshold = 0.5},
             {.weight_decay = 0.1});
       }},
      {"ftrl", [] { return Ftrl({.learning_rate = 0.1}); }},
      {"ftrl_with_all",
       [] {
         return Ftrl({.learning_rate = 0.1,
                      .learning_rate_power = -0.75,
                      .l1_regularization_strength = 0.01,
                      .l2_regularization_strength = 0.1,
                      .l2_shrinkage_regularization_strength = 0.05,
                      .beta = 0.5});
       }},
      {"clipvalue", [] { return SGD({.learning_rate = 0.1}, {.clipvalue = 0.2}); }},
      {"clipnorm", [] { return SGD({.learning_rate = 0.1}, {.clipnorm = 0.5}); }},
      {"global_clipnorm", [] { return Adam({.learning_rate = 0.01}, {.global_clipnorm = 0.5}); }},
      {"accumulation",
       [] {
         return Adam(
             {.learning_rate = ExponentialDecay({.initial_learning_rate = 0.01, .decay_steps = 10, .decay_rate = 0.5})},
             {.gradient_accumulation_steps = 4});
       }},
      {"average", [] { return SGD({.learning_rate = 0.1}, {.use_ema = true, .ema_momentum = 0.9}); }},
      {"overwritten_average",
       [] {
         return Adam({.learning_rate = 0.01},
                     {.weight_decay = 0.1, .use_ema = true, .ema_momentum = 0.9, .ema_overwrite_frequency = 7});
       }},
      {"lamb_with_all",
       [] {
         return Lamb({.learning_rate = 0.01},
                     {.weight_decay = 0.1, .exclude_from_weight_decay = {"bias"}, .clipnorm = 0.5, .use_ema = true});
       }},
      {"max_norm", [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }},
      {"unit_norm", [] { return Adam({.learning_rate = 0.01}, {.clipnorm = 0.5}); }},
      {"min_max_norm", [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }},
      {"constrained_accumulation", [] { return SGD({.learning_rate = 0.1}, {.gradient_accumulation_steps = 4}); }},
      {"constrained_average",
       [] {
         return SGD({.learning_rate = 0.1}, {.use_ema = true, .ema_momentum = 0.9, .ema_overwrite_frequency = 7});
       }},
  };
  require(cases.contains(name), "there is no case '{}'", name);
  return cases.at(name)();
}

const std::map<std::string, LearningRateSchedule>& schedules() {
  static const std::map<std::string, LearningRateSchedule> all{
      {"exponential", ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5})},
      {"staircase",
       ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5, .staircase = true})},
      {"inverse", InverseTimeDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5})},
      {"piecewise", PiecewiseConstantDecay({5, 20}, {0.1, 0.05, 0.01})},
      {"polynomial", PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 20, .power = 0.5})},
      {"cycle", PolynomialDecay({.initial_learning_rate = 0.1, .decay_steps = 7, .cycle = true})},
      {"cosine", CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 20, .alpha = 0.1})},
      {"warm_up",
       CosineDecay({.initial_learning_rate = 0, .decay_steps = 20, .warmup_target = 0.1, .warmup_steps = 5})},
      {"restarts", CosineDecayRestarts({.initial_learning_rate = 0.1, .first_decay_steps = 5, .m_mul = 0.9})},
  };
  return all;
}

template <class T>
void write(const std::string& path, const std::vector<T>& values) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  require<InputError>(out.flush().good(), "{} cannot be written", path);
}

/// Constraints of the kernel and of the bias.
std::pair<Constraint, Constraint> make_constraints(const std::string& name) {
  const std::map<std::string, std::pair<Constraint, Constraint>> cases{
      {"max_norm", {MaxNorm(0.75), NonNeg()}},
      {"unit_norm", {UnitNorm({0, 1}), UnitNorm()}},
      {"min_max_norm", {MinMaxNorm({.min_value = 0.5, .rate = 0.25, .axis = 1}), MaxNorm()}},
      {"constrained_accumulation", {MinMaxNorm({.min_value = 0.5, .rate = 0.25, .axis = -1}), NonNeg()}},
      {"constrained_average", {UnitNorm(), MaxNorm(0.5)}},
  };
  const auto found = cases.find(name);
  return found == cases.end() ? std::pair<Constraint, Constraint>() : found->second;
}

Variable parameter(const std::string& name, const Shape& shape, const Constraint& constraint) {
  VariableSpec spec{.name = name, .shape = shape, .initializer = [](const Tensor& out) {
                      float value = -1;
                      for (float& x : out.span<float>()) x = value += 0.1F;
                    }};
  if (constraint) spec.constraint = constraint;
  return Variable(std::move(spec));
}

/// Gives each replica an equal share of each step's gradients.
void optimize(const std::string& name, int replicas, const std::string& gradients, const std::string& outputs) {
  std::ifstream in(gradients, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const MirroredStrategy strategy(logical_cpus(replicas));
  const std::pair<Constraint, Constraint> constraints = make_constraints(name);
  const std::vector<Variable> variables = strategy.scope([&] {
    return std::vector{parameter("kernel", {4, 5}, constraints.first), parameter("bias", {7}, constraints.second)};
  });
  const Optimizer optimizer = make_optimizer(name);
  const float* row = reinterpret_cast<const float*>(bytes.data());
  for (std::size_t step = 0; step < bytes.size() / sizeof(float) / 27; ++step, row += 27) {
    std::vector<float> share(row, row + 27);
    for (float& x : share) x /= static_cast<float>(replicas);
    const Tensor of_kernel = Tensor::from(std::span<const float>(share).first(20), {4, 5});
    const Tensor of_bias = Tensor::from(std::span<const float>(share).last(7), {7});
    strategy.run([&] { optimizer.apply_gradients(std::vector{of_kernel, of_bias}, variables); });
  }
  optimizer.finalize_variable_values();
  std::vector<float> values;
  for (const Variable& variable : variables)
    for (const float x : variable.value().to_vector<float>()) values.push_back(x);
  write(outputs, values);
}

void run(std::span<const std::string> words) {
  if (words.size() == 4) return optimize(words[0], std::stoi(words[1]), words[2], words[3]);
  require(words.size() == 3 && schedules().contains(words[0]), "usage: see optimizer_driver.cpp");
  std::vector<double> rates;
  for (int step = 0; step < std::stoi(words[1]); ++step) rates.push_back(schedules().at(words[0])(step));
  write(words[2], rates);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    lockstep::run(words);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "optimizer_driver: {}\n", error.what());
    return 1;
  }
}
