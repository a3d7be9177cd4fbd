#pragma once

#include <cstdint>
#include <type_traits>

#include <lockstep/kernels/random/dropout_rule.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Definitions for the attention kernels of CPUs and GPUs. A row holds the scores of one query of one head for all keys.
// Rows are numbered in the order of (example, head, query).

namespace lockstep::attention {

/// The score of a masked key. It is finite, so that a query whose keys are all masked gives all keys the same weight;
/// with -inf, these weights would be NaN.
inline constexpr float hidden_score = -2.3e38F;

/// Dropout of attention weights. One Philox block provides the random words for four consecutive keys of a row.
struct WeightDropout {
  WeightDropout(float rate, const RandomKey& key, std::int64_t keys)
      : rule(rate), sequence(key), blocks((keys + 3) / 4) {}

  /// The random words of keys 4 * group to 4 * group + 3.
  LOCKSTEP_HOST_DEVICE PhiloxBlock block(std::int64_t row, std::int64_t group) const {
    return sequence.block(static_cast<std::uint64_t>(row * blocks + group));
  }
  /// The factor of a key's weight: 0 or 1 / (1 - rate).
  LOCKSTEP_HOST_DEVICE float factor(std::int64_t row, std::int64_t key) const {
    return rule(1.0F, block(row, key / 4).word[key % 4]);
  }

  DropoutRule rule;
  RandomSequence sequence;
  std::int64_t blocks;  ///< number of blocks per row
};

/// A tensor (b, time, heads, size) of any strides.
template <class T>
struct Heads {
  explicit Heads(const Tensor& x)
      : first(x.data<std::remove_const_t<T>>()),
        example_stride(x.strides()[0]),
        time_stride(x.strides()[1]),
        head_stride(x.strides()[2]),
        column_stride(x.strides()[3]) {}

  LOCKSTEP_HOST_DEVICE T& at(std::int64_t example, std::int64_t time, std::int64_t head, std::int64_t column) const {
    return first[example * example_stride + time * time_stride + head * head_stride + column * column_stride];
  }
  LOCKSTEP_HOST_DEVICE float value(std::int64_t example, std::int64_t time, std::int64_t head,
                                   std::int64_t column) const {
    return static_cast<float>(at(example, time, head, column));
  }

  T* first;
  std::int64_t example_stride, time_stride, head_stride, column_stride;
};

/// A boolean mask (b, heads, tq, tk) of any strides; false masks the key out. If the tensor is undefined, no key is
/// masked.
struct MaskView {
  explicit MaskView(const Tensor& mask) {
    if (!mask.defined()) return;
    elements = mask.data<bool>();
    for (int axis = 0; axis < 4; ++axis) strides[axis] = mask.strides()[axis];
  }

  LOCKSTEP_HOST_DEVICE bool hides(std::int64_t example, std::int64_t head, std::int64_t query, std::int64_t key) const {
    const std::int64_t at = example * strides[0] + head * strides[1] + query * strides[2] + key * strides[3];
    return elements != nullptr && !elements[at];
  }

  const bool* elements = nullptr;
  std::int64_t strides[4] = {};
};

/// The example, head and query of a row.
struct RowPlace {
  LOCKSTEP_HOST_DEVICE RowPlace(std::int64_t row, std::int64_t heads, std::int64_t queries)
      : example(row / queries / heads), head(row / queries % heads), query(row % queries) {}

  std::int64_t example, head, query;
};

}  // namespace lockstep::attention
