#pragma once

#include <string>

#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>

namespace lockstep {

/// Keras' layer Activation: applies the function to every element, or to the last axis. `Activation` names the
/// functions here.
struct ActivationLayer : Layer {
  /// As Keras' Activation(activation).
  explicit ActivationLayer(Activation activation, std::string name = {});
  /// From a file's options.
  static ActivationLayer from_config(LayerConfig& config);
};

/// Keras' layers of single functions.
struct ReLU : Layer {
  /// max(0, x) of every element.
  explicit ReLU(std::string name = {});
  /// Of all defaults: ReLU({}).
  explicit ReLU(Defaults) : ReLU() {}
  /// From a file's options.
  static ReLU from_config(LayerConfig& config);
};

/// LeakyReLU's options.
struct LeakyReLUOptions {
  double negative_slope = 0.3;  ///< not that of Activation::leaky_relu, in Keras as here
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};
/// x, or negative_slope * x below 0.
struct LeakyReLU : Layer {
  /// Throws InvalidArgument for a negative slope.
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
  /// Of all defaults: LeakyReLU({}).
  explicit LeakyReLU(Defaults) : LeakyReLU() {}
  /// From a file's options.
  static LeakyReLU from_config(LayerConfig& config);
};

/// ELU's options.
struct ELUOptions {
  /// Factor of exp(x) - 1 below 0; not negative.
  double alpha = 1;
  /// Of the layer; the model makes one from the class where it is empty.
  std::string name{};
};
/// x, or alpha * (exp(x) - 1) below 0.
struct ELU : Layer {
  /// Throws InvalidArgument for a negative alpha.
  explicit ELU(const ELUOptions& options = {});
  /// Of all defaults: ELU({}).
  explicit ELU(Defaults) : ELU() {}
  /// From a file's options.
  static ELU from_config(LayerConfig& config);
};

/// Over the last axis.
struct Softmax : Layer {
  /// exp(x) / sum(exp(x)).
  explicit Softmax(std::string name = {});
  /// Of all defaults: Softmax({}).
  explicit Softmax(Defaults) : Softmax() {}
  /// From a file's options.
  static Softmax from_config(LayerConfig& config);
};

}  // namespace lockstep
