#pragma once

#include <string>

#include <lockstep/kernels/ops/elementwise.h>
#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Keras' layer Activation: applies the function to every element, or to the last axis. `Activation` names the
/// functions here.
struct ActivationLayer : Layer {
  explicit ActivationLayer(Activation activation, std::string name = {});
  /// From a file's options.
  static ActivationLayer from_config(LayerConfig& config);
};

/// Keras' layers of single functions.
struct ReLU : Layer {
  explicit ReLU(std::string name = {});
  /// From a file's options.
  static ReLU from_config(LayerConfig& config);
};

struct LeakyReLUOptions {
  double negative_slope = 0.3;  ///< not that of Activation::leaky_relu, in Keras as here
  std::string name{};
};
struct LeakyReLU : Layer {
  /// Throws InvalidArgument for a negative slope.
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
  /// From a file's options.
  static LeakyReLU from_config(LayerConfig& config);
};

struct ELUOptions {
  double alpha = 1;
  std::string name{};
};
struct ELU : Layer {
  /// Throws InvalidArgument for a negative alpha.
  explicit ELU(const ELUOptions& options = {});
  /// From a file's options.
  static ELU from_config(LayerConfig& config);
};

/// Over the last axis.
struct Softmax : Layer {
  explicit Softmax(std::string name = {});
  /// From a file's options.
  static Softmax from_config(LayerConfig& config);
};

}  // namespace lockstep
