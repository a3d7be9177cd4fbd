#pragma once

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {

/// Base of the layers that multiply by gamma and add beta. Without `scale`, gamma is the constant 1; without `center`,
/// beta is the constant 0.
template <class Options>
class ScaledNormalizationImpl : public LayerOf<Options> {
 protected:
  using LayerOf<Options>::LayerOf;

  /// Creates gamma and beta of this shape. Called once, by `build`.
  void make_gamma_and_beta(const Shape& shape, const LayerSeed& seed) {
    const Options& options = this->options_;
    VariableSpec gamma{.name = "gamma", .shape = shape, .initializer = options.gamma_initializer(seed.key(0))};
    VariableSpec beta{.name = "beta", .shape = shape, .initializer = options.beta_initializer(seed.key(1))};
    if (!options.scale) gamma.initializer = ones();
    if (!options.center) beta.initializer = zeros();
    gamma_ = options.scale ? this->add_weight(gamma, options.gamma_regularizer, options.gamma_constraint)
                           : this->constant_weight(gamma);
    beta_ = options.center ? this->add_weight(beta, options.beta_regularizer, options.beta_constraint)
                           : this->constant_weight(beta);
  }

  ///@{
  /// Undefined until make_gamma_and_beta().
  Variable gamma_;
  Variable beta_;
  ///@}
};

}  // namespace lockstep
