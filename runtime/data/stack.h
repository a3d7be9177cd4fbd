#pragma once

#include <span>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep::detail {

/// The examples as one batch: copies with a leading axis. Throws InvalidArgument when they differ in shape or dtype, or
/// in how many inputs, targets or sample weights they have.
Batch stack(std::span<const Example> examples);

/// Batches as one, their rows one after the other: copies, or the only one as it is. Precondition: there is one.
/// Throws as stack.
Batch join(std::span<const Batch> batches);

/// Row `index` of a batch of dense tensors, without its leading axis, as a view.
Example row_view(const Batch& batch, std::int64_t index);

/// Rows `indices` of a dense tensor, as a copy.
Tensor gather_rows(const Tensor& from, std::span<const std::int64_t> indices);

}  // namespace lockstep::detail
