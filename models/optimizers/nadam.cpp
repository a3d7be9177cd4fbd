#include "lockstep/models/optimizers/nadam.h"

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/optimizer_config.h>
#include <lockstep/models/optimizers/rule.h>

namespace lockstep {
namespace {

/// u_t of the formula.
double momentum_at(double beta_1, std::int64_t t) {
  return beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(t)));
}

/// p_t of the formula, Keras' u_product.
double product_of_momenta(double beta_1, std::int64_t t) {
  double product = std::pow(beta_1, static_cast<double>(t));
  double power = 1;
  for (std::int64_t i = 1; i <= t && power > 1e-17; ++i) product *= 1 - 0.5 * (power *= 0.96);  // then factors of 1
  return product;
}

class NesterovMoments final : public Optimizer::Rule {
 public:
  explicit NesterovMoments(const NadamOptions& options) : options_(options) { check_moments("Nadam", options); }

  ObjectConfig config() const override { return config_of("Nadam", options_); }
  std::vector<Slot> slots() const override {
    return {{.name = "momentum"}, {.name = "velocity", .beside_previous = true}};
  }
  OptimizerStep step(float learning_rate, std::int64_t t) const override {
    return element_rule(NadamRule(learning_rate, options_, t));
  }
  std::vector<double> scalars(std::int64_t updates) const override {
    return {product_of_momenta(options_.beta_1, updates)};
  }

 private:
  NadamOptions options_;
};

}  // namespace

void NadamOptions::describe(OptionVisitor& visitor) { list_moments(visitor, *this); }

NadamRule::NadamRule(float learning_rate, const NadamOptions& options, std::int64_t t)
    : correction_2(static_cast<float>(1 - std::pow(options.beta_2, static_cast<double>(t)))),
      epsilon(static_cast<float>(options.epsilon)),
      moments(options.beta_1, options.beta_2) {
  const double rate = learning_rate;
  const double next = momentum_at(options.beta_1, t + 1);
  const double product = product_of_momenta(options.beta_1, t);
  of_moment = static_cast<float>(rate * next / (1 - product * next));
  of_gradient = static_cast<float>(rate * (1 - momentum_at(options.beta_1, t)) / (1 - product));
}

Nadam::Nadam(const NadamOptions& options, const OptimizerOptions& common)
    : Optimizer(options.learning_rate, std::make_unique<NesterovMoments>(options), common) {}

}  // namespace lockstep
