#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/kernels/activation.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Keras' layer Activation; in lockstep, `Activation` is the enumeration of the functions. softmax and log_softmax
/// apply along the last axis and need inputs with at least one axis besides the batch axis; the other functions apply
/// to each element.
struct ActivationLayer : Layer {
  /// Same as Keras' Activation(activation).
  explicit ActivationLayer(Activation activation, std::string name = {});
  /// Makes the layer from the options in a file.
  static ActivationLayer from_config(LayerConfig& config);
};

/// ReLU's options.
struct ReLUOptions {
  std::optional<double> max_value{};  ///< upper bound of the result, not negative; none by default
  double negative_slope = 0;          ///< factor of (x - threshold) for x not above the threshold; not negative
  double threshold = 0;               ///< inputs above it are kept, up to max_value; not negative
  /// Name of the layer; if empty, the model names it after its class.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};
/// min(x, max_value) for x above the threshold, otherwise negative_slope * (x - threshold).
struct ReLU : Layer {
  /// Throws InvalidArgument for a negative bound, slope or threshold.
  explicit ReLU(const ReLUOptions& options = {});
  /// Makes `ReLU({})` use the default options.
  explicit ReLU(Defaults) : ReLU() {}
};

/// LeakyReLU's options.
struct LeakyReLUOptions {
  double negative_slope = 0.3;  ///< Keras' default; Activation::leaky_relu has 0.2
  /// Name of the layer; if empty, the model names it after its class.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};
/// x where x >= 0, negative_slope * x where x < 0.
struct LeakyReLU : Layer {
  /// Throws InvalidArgument for a negative slope.
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
  /// Makes `LeakyReLU({})` use the default options.
  explicit LeakyReLU(Defaults) : LeakyReLU() {}
};

/// PReLU's options.
struct PReLUOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults.
  SeededInitializer alpha_initializer = zeros;
  Regularizer alpha_regularizer{};
  Constraint alpha_constraint{};
  /// Axes along which all elements share one alpha; 1 is the first axis after the batch axis. As in Keras, numbers <= 0
  /// count from the end: 0 is the last axis, -1 the last but one.
  std::vector<int> shared_axes{};
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};
/// x where x >= 0, alpha * x where x < 0 (He et al. 2015). Weight: alpha, of the input's shape without the batch axis,
/// with size 1 along the shared axes.
struct PReLU : Layer {
  /// A call of the layer throws InvalidArgument for inputs that lack one of the shared axes.
  explicit PReLU(const PReLUOptions& options = {});
  /// Makes `PReLU({})` use the default options.
  explicit PReLU(Defaults) : PReLU() {}
};

/// ELU's options.
struct ELUOptions {
  /// Factor of exp(x) - 1 where x < 0; not negative.
  double alpha = 1;
  /// Name of the layer; if empty, the model names it after its class.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};
/// x where x >= 0, alpha * (exp(x) - 1) where x < 0.
struct ELU : Layer {
  /// Throws InvalidArgument for a negative alpha.
  explicit ELU(const ELUOptions& options = {});
  /// Makes `ELU({})` use the default options.
  explicit ELU(Defaults) : ELU() {}
};

/// Softmax's options.
struct SoftmaxOptions {
  /// The axes over which the results sum to 1; the batch axis, 0, is not allowed; negative axes count from the end.
  std::vector<int> axis{-1};
  /// Name of the layer; if empty, the model names it after its class.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};
/// exp(x) / sum(exp(x)) along the axes. The inputs are x and, optionally, Keras' argument `mask`, which broadcasts to
/// x; without it, the mask is the one that x has, if any. Elements where the mask is false, or a number up to 0.5, are
/// left out of the sum and become 0. The result has the mask that x has, as in Keras where `mask` is given without its
/// name. Throws InvalidArgument for a mask of another rank, such as a mask of time steps.
struct Softmax : Layer {
  /// A call of the layer throws InvalidArgument for inputs that lack one of the axes.
  explicit Softmax(const SoftmaxOptions& options = {});
  /// Makes `Softmax({})` use the default options.
  explicit Softmax(Defaults) : Softmax() {}
};

}  // namespace lockstep
