#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/models/config/option_visitor.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/regularizers.h>

namespace lockstep {

class LayerImpl;

/// Writes or reads the options of a layer. When reading, throws InputError for sizes and axes that do not fit in 32
/// bits, so that computations with two of them do not overflow.
class LayerConfig : public OptionVisitor {
 public:
  /// A visitor that has written all options of `layer`, under this `name`. Throws Unsupported for a layer that files
  /// cannot hold.
  LayerConfig(const LayerImpl& layer, const std::string& name);
  /// A visitor that reads `values`, a layer's "config". `input_rank` is the rank of the layer's first input, with the
  /// batch axis. Throws InputError for a config without a name or with a dtype that is not a DTypePolicy.
  LayerConfig(std::string_view class_name, const nlohmann::ordered_json& values, int input_rank);

  ///@{
  /// Options that every layer has.
  const std::string& class_name() const { return class_name_; }
  const std::string& name() const { return name_; }
  bool trainable() const { return trainable_; }
  ///@}
  /// Omits "trainable" when writing, because some of Keras' classes do not take it.
  void without_trainable() { has_trainable_ = false; }
  ///@{
  /// The Python module of a class that keras.applications defines for its models; empty for other classes.
  const std::string& module() const { return module_; }
  void of_applications(const char* module) { module_ = module; }
  ///@}
  /// The options written so far: the layer's "config".
  nlohmann::ordered_json written() const;
  /// The policy in the file. If the file has none, this is empty, and the layer gets the policy of the open
  /// DTypePolicyScope, as in Keras.
  const std::optional<DTypePolicy>& dtype_policy() const { return dtype_policy_; }

  ///@{
  /// Options of the types that OptionVisitor supports, and shapes.
  using OptionVisitor::option;
  void option(const char* key, std::int64_t& value);
  void option(const char* key, Shape& value);
  ///@}
  /// A shape; an empty optional is null in files. Also reads a single number, as a shape of one axis.
  void option(const char* key, std::optional<Shape>& value);
  ///@{
  /// Two sizes, [height, width] in files; an empty optional is null. Also reads one number for both.
  void option(const char* key, Size2d& value);
  void option(const char* key, std::optional<Size2d>& value);
  ///@}
  /// Borders, [[top, bottom], [left, right]] in files. Also reads [rows, columns], where `rows` is the width at the top
  /// and the bottom and `columns` the width at the left and the right, or one number for all four sides.
  void option(const char* key, Borders2d& value);
  /// Dropout's noise_shape: a list of sizes and -1. Files have null in place of -1, and null for an empty list.
  void noise_shape(const char* key, std::vector<std::int64_t>& value);
  /// "valid" or "same".
  void option(const char* key, Padding& value);
  /// An interpolation, by name.
  void option(const char* key, Interpolation& value);
  /// An activation, by name or as the operation Gelu. When writing, throws Unsupported for Keras 2's hard_sigmoid,
  /// which Keras 3 lacks.
  void option(const char* key, Activation& value);
  /// A penalty; null in files for no penalty.
  void option(const char* key, Regularizer& value);
  /// A constraint; null in files for no constraint.
  void option(const char* key, Constraint& value);
  /// An initializer. Writes only the initializers of initializers.h; for any other, the file has no option, and Keras
  /// uses its default.
  void option(const char* key, SeededInitializer& value);
  /// A layer inside this one (InnerLayer). `input_rank` is the number of axes of its first input, including the batch
  /// axis. A null pointer is null in files.
  void option(const char* key, std::shared_ptr<LayerImpl>& layer, int input_rank);
  /// Rank of the layer's first input, with the batch axis; 0 when writing.
  int input_rank() const { return input_rank_; }
  /// An axis. Also reads a one-element list, and reads the number of the last axis of the layer's first input as -1.
  void axis(const char* key, int& value);
  /// Axes, written as null if there are none, as a number if there is one, and otherwise as a list. Reads all three
  /// forms.
  void axes(const char* key, std::vector<int>& value);
  /// Numbers of this shape, in row-major order. Files have nested lists, or a bare number, or null if there are no
  /// numbers.
  void numbers(const char* key, std::vector<double>& values, Shape& shape);
  /// Sizes; files have null in place of -1. Also reads a single number.
  void sizes(const char* key, Shape& value);
  ///@{
  /// The size of a single axis: a one-element list in files; also reads a number. An empty optional is null in files.
  void only_size(const char* key, std::int64_t& value);
  void only_size(const char* key, std::optional<std::int64_t>& value);
  ///@}
  /// A string; null in files if it is empty.
  void string_or_null(const char* key, std::string& value);
  ///@{
  /// An option for which lockstep supports only this value. For another value, reading throws an InputError whose
  /// message ends with `remedy`.
  void fixed(const char* key, std::string_view value, std::string_view remedy);
  void fixed(const char* key, std::same_as<bool> auto value, std::string_view remedy) {
    fixed_flag(key, value, remedy);
  }
  using OptionVisitor::fixed;
  ///@}
  /// The option data_format, of which lockstep supports channels_last only.
  void channels_last();

 private:
  void read_dtype();
  void fixed_flag(const char* key, bool value, std::string_view remedy);

  std::string class_name_;
  std::string name_;
  bool trainable_ = true;
  bool has_trainable_ = true;
  std::string module_{};
  std::optional<DTypePolicy> dtype_policy_{};
  int input_rank_ = 0;
};

/// Reads the name and the other options of a layer. Throws the same errors as Options::describe and check_all_read().
template <class Options>
requires requires(Options options, LayerConfig& config) {
  options.name = config.name();
  options.describe(config);
}
Options read_options(LayerConfig& config) {
  Options options;
  options.name = config.name();
  options.describe(config);
  config.check_all_read();
  return options;
}

/// Reads the name of a layer whose other options, if any, have been read. Throws the same errors as check_all_read().
inline std::string read_name(LayerConfig& config) {
  std::string name = config.name();
  config.check_all_read();
  return name;
}

/// Writes the options of a layer.
template <class Options>
void write_options(LayerConfig& config, Options options) {
  options.describe(config);
}

}  // namespace lockstep
