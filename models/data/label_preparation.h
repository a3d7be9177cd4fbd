#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/runtime/data/dataset.h>

// Transforms of targets, for Dataset::map.

namespace lockstep {

/// Converts labels y, u8, i32 or i64 of any shape (...), to (..., classes) f32 with 1 at the label and 0 elsewhere:
/// Keras' to_categorical. x is unchanged. Throws InvalidArgument for classes below 1; the returned function throws it
/// unless y has such a dtype, and InputError for a label outside 0 .. classes - 1; on a GPU, such a label becomes
/// zeros.
RowTransform one_hot(std::int64_t classes);

/// mixup's options.
struct MixupOptions {
  double alpha = 0.2;      ///< parameter of Beta(alpha, alpha), above 0 and at most 4
  std::uint64_t seed = 0;  ///< seed of the random numbers
};

/// Mixes a batch with a random permutation of its own rows, the same permutation for x and y: lambda * row + (1 -
/// lambda) * other row, with one lambda per batch (Zhang et al. 2018). Takes batches of f32 x and y, so apply it after
/// batch() and, for labels, after one_hot(). The result depends only on the seed, the epoch and the batch's number.
/// Throws InvalidArgument for an alpha out of range; the returned function throws it unless x and y are f32, and for a
/// missing y, different numbers of rows, several inputs or targets, and sample weights.
std::function<Example(const Example&, const ElementId&)> mixup(const MixupOptions& options = {});

}  // namespace lockstep
