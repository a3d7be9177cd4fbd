#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/losses/loss_config.h>
#include <lockstep/models/metrics/metric_config.h>
#include <lockstep/models/optimizers/optimizer_config.h>

namespace lockstep {

namespace detail {

/// Makes a layer whose class is derived from LayerImpl or Layer.
template <class T>
Layer make_custom_layer(LayerConfig& config) {
  using Given = OptionsIn<LayerConfig>;
  if constexpr (requires { T::from_config(config); }) {
    return Layer(T::from_config(config));
  } else if constexpr (requires { T(Given{config}); }) {
    if constexpr (std::derived_from<T, Layer>)
      return T(Given{config});
    else
      return Layer(std::make_shared<T>(Given{config}));
  } else {
    static_assert(std::default_initializable<T>,
                  "a layer with options needs from_config, or one constructor that takes a struct with a name and a "
                  "member function describe(LayerConfig&)");
    const std::string name = read_name(config);
    std::shared_ptr<LayerImpl> layer;
    if constexpr (std::derived_from<T, Layer>)
      layer = T().shared();
    else
      layer = std::make_shared<T>();
    layer->set_name(name);
    return Layer(layer);
  }
}

}  // namespace detail

/// Keras' register_keras_serializable: makes save_model and load_model support objects of the class T, which is derived
/// from LayerImpl, Layer, Loss, Metric or Optimizer. Files name the class "package>name"; `name` is by default the
/// class_name. Keras opens such a file if a Python class is registered under the same name and has the same options and
/// the same order of weights; an optimizer must also have the same slots.
///
/// `class_name` must equal the name that T's objects report: LayerImpl::class_name() for a layer, `config.class_name`
/// for a loss or metric, and `Optimizer::Rule::config().class_name` for an optimizer. It must also be the name of the
/// Python class, because `.keras` files name groups of weights after it.
///
/// load_model constructs an object from a struct of options; T must have exactly one constructor that takes such a
/// struct. The struct's member function `describe(OptionVisitor&)` writes or reads the options. For a layer, `describe`
/// takes a LayerConfig& and leaves out the option `name`; for an optimizer, it leaves out `learning_rate`. An
/// optimizer's constructor takes an OptimizerOptions after the struct. A layer, loss or metric without options needs
/// only a default constructor. If T has a static member function from_config, load_model calls that instead of a
/// constructor. The argument is a LayerConfig& for a layer, an OptionVisitor& for a loss or metric, and a const
/// OptimizerConfig& for an optimizer; for an optimizer, read_options reads the options from it. For a T derived from
/// LayerImpl, from_config may return a std::shared_ptr<T>. A class derived from LayerImpl must override
/// LayerImpl::describe.
///
/// Saving throws Unsupported for a registered loss or metric with an option named `name`, `dtype` or `reduction`, and
/// for a registered optimizer with an option that has the name of a common option (`learning_rate`, `name`, or an
/// option of OptimizerOptions).
///
/// Threads may call register_keras_serializable concurrently; a second call for the same class and name does nothing.
/// Throws InvalidArgument for a package or name that is empty or contains '>', and for a class_name that is empty or is
/// the name of one of Keras' classes of this kind. Also throws it if another class of this kind is registered under the
/// same package and name or with the same class_name.
template <class T>
void register_keras_serializable(std::string_view package, std::string_view class_name, std::string_view name) {
  if constexpr (std::derived_from<T, LayerImpl> || std::derived_from<T, Layer>) {
    layer_classes().add(package, class_name, name, detail::make_custom_layer<T>);
  } else if constexpr (std::derived_from<T, Loss>) {
    loss_classes().add(package, class_name, name, make_keras_object<T, Loss, OptionVisitor>);
  } else if constexpr (std::derived_from<T, Metric>) {
    metric_classes().add(package, class_name, name, make_keras_object<T, Metric, OptionVisitor>);
  } else {
    static_assert(std::derived_from<T, Optimizer>, "T is derived from LayerImpl, Layer, Loss, Metric or Optimizer");
    optimizer_classes().add(package, class_name, name, make_keras_object<T, Optimizer, const OptimizerConfig>);
  }
}

/// Same as above, with `class_name` as the name.
template <class T>
void register_keras_serializable(std::string_view package, std::string_view class_name) {
  register_keras_serializable<T>(package, class_name, class_name);
}

}  // namespace lockstep
