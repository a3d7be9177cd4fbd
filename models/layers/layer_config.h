#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {

/// A layer's options under Keras' names and in Keras' values: the "config" that its files of whole models have for each
/// layer. A layer lists its options once, for writing and for reading: each function below writes the value that it is
/// given, or sets it to what was read, or leaves it where the file says nothing. They throw InputError, naming layer,
/// option and what would be right, for a value that the layer cannot take.
class LayerConfig {
 public:
  /// To be written.
  LayerConfig(std::string_view class_name, const std::string& name, bool trainable, DTypePolicy dtype_policy);
  /// To be read from a "config". `input_rank` is that of the layer's first input, with the batch axis. Throws
  /// InputError for one without a name, or with a dtype that is no DTypePolicy.
  LayerConfig(std::string_view class_name, const nlohmann::ordered_json& values, int input_rank);
  ~LayerConfig();
  LayerConfig(const LayerConfig&) = delete;
  LayerConfig& operator=(const LayerConfig&) = delete;

  ///@{
  /// What every layer has.
  const std::string& class_name() const { return class_name_; }
  const std::string& name() const { return name_; }
  bool trainable() const { return trainable_; }
  ///@}
  /// None when a file does not say: then, as in Keras, that of the scope that is open.
  const std::optional<DTypePolicy>& dtype_policy() const { return dtype_policy_; }

  ///@{
  /// A number, a flag or a shape.
  void option(const char* key, bool& value);
  void option(const char* key, std::int64_t& value);
  void option(const char* key, double& value);
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

  ///@{
  /// An option that this project has in one value.
  void fixed(const char* key, std::string_view value);
  void fixed(const char* key, double value);
  void fixed(const char* key, std::same_as<bool> auto value) { fixed_flag(key, value); }
  void fixed_null(const char* key);
  ///@}
  /// An axis that is the last one: -1, and also read as the number that it has in the layer's input.
  void last_axis(const char* key);
  /// An option of another name in Keras 2, to be read under its new one.
  void renamed(const char* old_key, const char* key);
  /// What says how, or from which seed, something is computed, and not what: read over, and not written.
  void passed_over(const char* key);

  /// Throws InputError for an option that has been read over, unless it is off (null, false or 0).
  void check_all_read() const;
  /// What was written.
  const nlohmann::ordered_json& values() const { return *values_; }

 private:
  template <class T, class Write, class Read>
  void exchange(const char* key, T& value, const Write& write, const Read& read);
  /// The value of a key of a file, which counts as read; null when there is none.
  const nlohmann::ordered_json* take(const char* key);
  [[noreturn]] void refuse(const char* key, const nlohmann::ordered_json& value, std::string_view right) const;
  void fixed_flag(const char* key, bool value);
  void fixed_value(const char* key, const nlohmann::ordered_json& value);
  void read_dtype();

  std::string class_name_;
  std::string name_;
  bool trainable_ = true;
  std::optional<DTypePolicy> dtype_policy_{};
  bool reading_ = false;
  int input_rank_ = 0;
  std::unique_ptr<nlohmann::ordered_json> values_;
  std::set<std::string> read_;
};

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
