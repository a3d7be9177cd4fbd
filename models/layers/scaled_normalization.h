#pragma once

#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Base of the layers that multiply by gamma and add beta; without `scale` or `center` these are constants, 1 and 0.
template <class Options>
class ScaledNormalizationImpl : public LayerImpl {
 protected:
  /// The layer has the name in `options`.
  ScaledNormalizationImpl(const Options& options, LayerTraits traits)
      : LayerImpl(options.name, traits), options_(options) {}

  /// Creates gamma and beta of this shape. Called once, by `build`.
  void make_gamma_and_beta(const Shape& shape, const LayerSeed& seed) {
    VariableSpec gamma{.name = "gamma", .shape = shape, .initializer = options_.gamma_initializer(seed.key(0))};
    VariableSpec beta{.name = "beta", .shape = shape, .initializer = options_.beta_initializer(seed.key(1))};
    if (!options_.scale) gamma.initializer = ones();
    if (!options_.center) beta.initializer = zeros();
    gamma_ = options_.scale ? add_weight(gamma, options_.gamma_regularizer, options_.gamma_constraint)
                            : constant_weight(gamma);
    beta_ =
        options_.center ? add_weight(beta, options_.beta_regularizer, options_.beta_constraint) : constant_weight(beta);
  }

  Options options_;  ///< as given to the constructor
  ///@{
  /// Empty until make_gamma_and_beta.
  Variable gamma_;
  Variable beta_;
  ///@}
};

}  // namespace lockstep
