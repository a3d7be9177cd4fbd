#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// How the axes of the inputs (n, ..., features) of MultiHeadAttention take part in it. Queries attend to keys along
/// the attended axes; each place along the other axes is computed for itself, like an example. The ops see sequences
/// (n * others, time, features), where `time` is the product of the attended axes.
class AttentionAxes {
 public:
  /// `attended`: Keras' attention_axes; all axes between those of the batch and the features if empty. `rank`: of the
  /// inputs, with the batch axis. Throws InvalidArgument, which names the layer, for axes outside this range and for an
  /// axis that is given twice.
  AttentionAxes(std::string_view layer, const std::vector<int>& attended, int rank);

  /// The attended axes; none is negative.
  const std::vector<int>& attended() const { return attended_; }
  /// The axes between those of the batch and the features that are not attended.
  const std::vector<int>& others() const { return others_; }
  /// The shape of the scores, without the batch axis: (others, heads, attended axes of the query, of the key). `query`
  /// and `key` are shapes without the batch axis.
  Shape scores(std::int64_t heads, const Shape& query, const Shape& key) const;
  /// Whether a mask without the batch axis broadcasts to the scores. The axes of heads, and the last of the others, may
  /// be missing.
  bool fits(const Shape& mask, const Shape& scores) const;

  /// x (n, ..., features) as sequences.
  Tensor sequences(const Tensor& x) const;
  /// Sequences (n * others, time, ...) in the order of the axes of `query` (n, ..., features).
  Tensor restored(const Tensor& sequences, const Shape& query) const;
  /// A mask (n, ..., attended axes of the query, of the key) with the axes that are missing before those of the query,
  /// of size 1.
  Tensor with_all_axes(const Tensor& mask) const;
  /// A mask with all axes as (n * others, heads, time of the query, time of the key); sizes of 1 may be left. `scores`:
  /// the shape of the scores, with the batch axis.
  Tensor of_sequences(const Tensor& mask, const Shape& scores) const;

 private:
  std::vector<int> attended_;
  std::vector<int> others_;
};

}  // namespace lockstep
