#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <lockstep/models/layers/layer.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {

/// Base of layers whose options are a struct with a name. `Base` is LayerImpl or a class derived from it.
template <class Options, class Base = LayerImpl>
class LayerOf : public Base {
 public:
  /// The name given at construction.
  std::string_view class_name() const final { return class_name_; }
  /// Lists the options.
  void describe(LayerConfig& config) const override { write_options(config, options_); }

 protected:
  /// For a Base whose constructor takes a name and traits.
  LayerOf(const char* class_name, const Options& options, const LayerTraits& traits)
      : Base(options.name, traits), class_name_(class_name), options_(options) {}
  /// `base`: the arguments of Base's constructor after the name.
  template <class... Args>
  LayerOf(const char* class_name, const Options& options, Args&&... base)
      : Base(options.name, std::forward<Args>(base)...), class_name_(class_name), options_(options) {}

  /// Creates a kernel with the initializer, regularizer and constraint that the options have for it.
  Variable add_kernel(const Shape& shape, const RandomKey& key, std::string name = "kernel") {
    return this->add_weight({.name = std::move(name), .shape = shape, .initializer = options_.kernel_initializer(key)},
                            options_.kernel_regularizer, options_.kernel_constraint);
  }
  /// Like add_kernel, for a bias; returns an undefined variable if the options have use_bias = false.
  Variable add_bias(const Shape& shape, const RandomKey& key, std::string name = "bias") {
    if constexpr (requires { options_.use_bias; })
      if (!options_.use_bias) return {};
    return this->add_weight({.name = std::move(name), .shape = shape, .initializer = options_.bias_initializer(key)},
                            options_.bias_regularizer, options_.bias_constraint);
  }

  const char* class_name_;  ///< for messages
  Options options_;         ///< written to files
};

}  // namespace lockstep
