#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// The roles of the axes of MultiHeadAttention's inputs (n, ..., features). Queries attend to keys along the attended
/// axes. Along the other axes between the batch axis and the features, attention is computed separately for each index,
/// as for each example of the batch. The ops get sequences (n * others, time, features), where `others` is the product
/// of the other axes' sizes and `time` is the product of the attended axes' sizes.
class AttentionAxes {
 public:
  /// `attended`: Keras' attention_axes; if empty, all axes between the batch axis and the features. `rank`: number of
  /// axes of the inputs, with the batch axis. Throws InvalidArgument, naming the layer, for the batch axis, for the
  /// last axis, for an axis out of range and for an axis that is given twice.
  AttentionAxes(std::string_view layer, const std::vector<int>& attended, int rank);

  /// The attended axes, as non-negative numbers, in the order given to the constructor.
  const std::vector<int>& attended() const { return attended_; }
  /// The axes between the batch axis and the features that are not attended.
  const std::vector<int>& others() const { return others_; }
  /// The shape of the scores, without the batch axis: (other axes, heads, attended axes of the query, attended axes of
  /// the key). `query` and `key` are shapes without the batch axis.
  Shape scores(std::int64_t heads, const Shape& query, const Shape& key) const;
  /// Whether a mask broadcasts to the scores; both shapes lack the batch axis. The mask may lack the last of the axes
  /// (other axes, heads), or all of them.
  bool fits(const Shape& mask, const Shape& scores) const;

  /// Reshapes x (n, ..., features) to sequences (n * others, time, features).
  Tensor sequences(const Tensor& x) const;
  /// The inverse of sequences(): reshapes sequences (n * others, time, ...) to (n, axes, ...), where `query` is the
  /// shape (n, axes, features).
  Tensor restored(const Tensor& sequences, const Shape& query) const;
  /// Inserts the axes that are missing in a mask (n, ..., attended axes of the query, attended axes of the key), with
  /// size 1, before the attended axes of the query.
  Tensor with_all_axes(const Tensor& mask) const;
  /// Reshapes a mask with all axes to (n * others, heads, time of the query, time of the key). An axis of size 1 keeps
  /// this size unless it is merged with another axis. `scores`: the shape of the scores, with the batch axis.
  Tensor of_sequences(const Tensor& mask, const Shape& scores) const;

 private:
  std::vector<int> attended_;
  std::vector<int> others_;
};

}  // namespace lockstep
