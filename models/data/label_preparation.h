#pragma once

#include <cstdint>
#include <functional>

#include <lockstep/runtime/data/dataset.h>

// Functions for Dataset::map that change targets.

namespace lockstep {

/// Turns labels y, u8, i32 or i64 of any shape, into (.., classes) f32, 1 at the label and else 0: Keras'
/// to_categorical. x stays. Throws InvalidArgument for no classes; the function for other dtypes, and InputError for a
/// label outside of 0 .. classes - 1.
RowTransform one_hot(std::int64_t classes);

/// Mixup's options.
struct MixupOptions {
  double alpha = 0.2;      ///< of the Beta(alpha, alpha) distribution, above 0 and at most 4
  std::uint64_t seed = 0;  ///< of the draws
};

/// Mixes each batch with itself in another order, x and y alike: lambda * row + (1 - lambda) * other row, with one
/// lambda and one order for each batch (Zhang et al. 2018). For f32 x and y, so after one_hot() and after batch(). What
/// a batch gets depends on the seed, the epoch and its number alone. Throws InvalidArgument for an alpha out of range;
/// the function for other dtypes, a missing y, several inputs, and sample weights.
std::function<Example(const Example&, const ElementId&)> mixup(const MixupOptions& options = {});

}  // namespace lockstep
