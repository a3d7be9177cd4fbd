#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/config/option_visitor.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {

/// The options of a layer, beside those of every layer. Integers of layers, from which sizes are computed, have 32
/// bits.
class LayerConfig : public OptionVisitor {
 public:
  /// To be written.
  LayerConfig(std::string_view class_name, const std::string& name, bool trainable, DTypePolicy dtype_policy);
  /// To be read from a "config". `input_rank` is that of the layer's first input, with the batch axis. Throws
  /// InputError for one without a name, or with a dtype that is no DTypePolicy.
  LayerConfig(std::string_view class_name, const nlohmann::ordered_json& values, int input_rank);

  ///@{
  /// The options of every layer.
  const std::string& class_name() const { return class_name_; }
  const std::string& name() const { return name_; }
  bool trainable() const { return trainable_; }
  ///@}
  /// Empty when the file has none: then, as in Keras, the open scope's.
  const std::optional<DTypePolicy>& dtype_policy() const { return dtype_policy_; }

  ///@{
  /// As of all objects; a whole number; a shape.
  using OptionVisitor::option;
  void option(const char* key, std::int64_t& value);
  void option(const char* key, Shape& value);
  ///@}
  ///@{
  /// In files [height, width] or one number for both.
  void option(const char* key, Size2d& value);
  void option(const char* key, std::optional<Size2d>& value);
  ///@}
  /// In files ((top, bottom), (left, right)), (rows, columns) or one number.
  void option(const char* key, Borders2d& value);
  /// "valid" or "same".
  void option(const char* key, Padding& value);
  /// Throws Unsupported when written for gelu_tanh and Keras 2's hard_sigmoid, which Keras 3 has no name for.
  void option(const char* key, Activation& value);
  /// Null for no penalty.
  void option(const char* key, Regularizer& value);
  /// Null for no constraint.
  void option(const char* key, Constraint& value);
  /// Written where it is one of the functions that take a key, such as glorot_uniform; else left to Keras' default.
  void option(const char* key, SeededInitializer& value);
  /// An axis that is the last one: -1, and also read as the number that it has in the layer's input.
  void last_axis(const char* key);

 private:
  void read_dtype();

  std::string class_name_;
  std::string name_;
  bool trainable_ = true;
  std::optional<DTypePolicy> dtype_policy_{};
  int input_rank_ = 0;
};

class LayerImpl;

/// All options of a layer, under this name. Throws Unsupported for a layer that files cannot hold.
nlohmann::ordered_json written_config(const LayerImpl& layer, const std::string& name);

/// Of a layer that has none but its name.
struct NoOptions {
  std::string name{};  ///< the layer's
};

/// The options of a layer as they were read.
template <class Options>
Options read_options(LayerConfig& config, void (*list)(LayerConfig&, Options&)) {
  Options options;
  options.name = config.name();
  list(config, options);
  config.check_all_read();
  return options;
}

/// Writes the options of a layer.
template <class Options>
void write_options(LayerConfig& config, void (*list)(LayerConfig&, Options&), Options options) {
  list(config, options);
}

}  // namespace lockstep
