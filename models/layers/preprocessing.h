#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lockstep/models/layers/layer.h>
#include <lockstep/runtime/core/defaults.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The layer Rescaling's options. (RescalingOptions belong to the transform `rescaling`.)
struct RescalingLayerOptions {
  ///@{
  /// Each is a single number, or one number for each channel of the last axis.
  std::vector<double> scale{};  ///< required
  std::vector<double> offset{0};
  ///@}
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// x * scale + offset.
struct Rescaling : Layer {
  /// Throws InvalidArgument for an empty list, and for a number that is not finite. A call throws it unless each list
  /// has one number or as many as the last axis of the input.
  explicit Rescaling(const RescalingLayerOptions& options);
};

/// The layer Normalization's options.
struct NormalizationOptions {
  /// The axes along which each index has its own mean and variance. The batch axis, 0, is not allowed; negative axes
  /// count from the end. Empty, Keras' None: a single mean and variance.
  std::vector<int> axis{-1};
  ///@{
  /// A single number each, or numbers of the shape `shape`. Empty if `adapt` or a file sets mean and variance.
  std::vector<double> mean{};
  std::vector<double> variance{};
  ///@}
  /// The shape of `mean` and `variance`, which must broadcast to the sizes of the axes in ascending order. If empty,
  /// `mean` and `variance` have one axis.
  Shape shape{};
  bool invert = false;  ///< undoes the normalization: x * max(sqrt(variance), 1e-7) + mean
  /// Name of the layer; if empty, the model derives one from the class name.
  std::string name{};
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// (x - mean) / max(sqrt(variance), 1e-7), by default for each channel of the last axis. Without a given mean and
/// variance, the layer has three weights, which are never trained: the mean (initially 0) and the variance (initially
/// 1), whose shape is the sizes of the axes, and a scalar count, which is unused but part of Keras' weight files.
struct Normalization : Layer {
  /// Throws InvalidArgument if mean and variance have different numbers of elements, if `shape` is given and has
  /// another number of elements, for a negative variance, and for numbers that are not finite. A call throws it for
  /// inputs that lack one of the axes, and if the sizes of the axes do not fit `shape` or are not the sizes for which
  /// the layer was built.
  explicit Normalization(const NormalizationOptions& options = {});
  /// Makes `Normalization({})` use the default options.
  explicit Normalization(Defaults) : Normalization() {}
  /// Sets the mean and variance to the mean and variance of `data`, a batch of inputs of dtype u8 or f32 on the host.
  /// May be called before or after the model is made. Throws InvalidArgument for data of another dtype, for empty data,
  /// for data that lack one of the axes, and if the layer was built for other sizes of the axes. Throws LogicError if
  /// mean and variance were given to the constructor.
  void adapt(const Tensor& data) const;
};

/// How CategoryEncoding encodes a list of ids. one_hot: a one-hot row for each element of the list. multi_hot: for each
/// category, 1 if the list contains its id, else 0. count: for each category, how often the list contains its id.
enum class CategoryOutput { one_hot, multi_hot, count };

/// CategoryEncoding's options.
struct CategoryEncodingOptions {
  ///@{
  /// Keras' arguments, with the same names and defaults. Arguments without a default in Keras are required.
  std::int64_t num_tokens = 0;  ///< number of categories; their ids start at 0; required
  CategoryOutput output_mode = CategoryOutput::multi_hot;
  std::string name{};
  ///@}
  void describe(LayerConfig& config);  ///< writes or reads the options
};

/// Encodes the ids of each example: (k) -> (num_tokens), or (k) -> (k, num_tokens) with one_hot and a k other than 1.
/// Ids of f32 are truncated to integers. Ids that are not in [0, num_tokens) give zeros. With `count`, an optional
/// second input (k) has Keras' count_weights: each id adds its weight instead of 1. Ids are f32, i32, i64 or u8; the
/// result is f32.
struct CategoryEncoding : Layer {
  /// Throws InvalidArgument for a num_tokens below 1. A call throws it for examples with more than one axis, and for a
  /// second input without `count` or of another shape.
  explicit CategoryEncoding(const CategoryEncodingOptions& options);
};

}  // namespace lockstep
