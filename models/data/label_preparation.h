#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/runtime/data/dataset.h>

// Transforms of targets, for Dataset::map.

namespace lockstep {

/// Replaces labels y of shape (...) by f32 one-hot rows of shape (..., classes), like Keras' to_categorical. Labels are
/// u8, i32 or i64; x is unchanged. Throws InvalidArgument for classes below 1. The returned function throws
/// InvalidArgument for a missing y and for other dtypes. For a label outside 0 .. classes - 1, it throws InputError if
/// y is in host memory; on a GPU, it gives a row of zeros.
RowTransform one_hot(std::int64_t classes);

/// mixup's options.
struct MixupOptions {
  double alpha = 0.2;      ///< parameter of Beta(alpha, alpha), above 0 and at most 4
  std::uint64_t seed = 0;  ///< seed of the random numbers
};

/// Mixes each row i of x and y with row p(i), where p is a random permutation of the batch: lambda * row i + (1 -
/// lambda) * row p(i), with one lambda per batch (Zhang et al. 2018). x and y must be f32 batches, so apply it after
/// batch() and, for labels, after one_hot(). The result depends only on the seed, the epoch and the batch's number.
/// Throws InvalidArgument for an alpha out of range. The returned function throws InvalidArgument unless the batch has
/// one input and one target, both f32 with the same number of rows, and no sample weights.
std::function<Example(const Example&, const ElementId&)> mixup(const MixupOptions& options = {});

}  // namespace lockstep
