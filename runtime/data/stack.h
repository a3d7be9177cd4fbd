#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep::detail {

/// Copies the examples into one batch, whose tensors have a leading batch axis. Throws InvalidArgument if the examples
/// differ in the shapes or dtypes of their tensors, or in the number of inputs, targets or sample weights, and for
/// tensors that are not in host memory. Precondition: at least one example.
Batch stack(std::span<const Example> examples);

/// Concatenates the rows of the batches into a new batch; a single batch is returned as it is. Precondition: at least
/// one batch. Throws the same errors as stack.
Batch join(std::span<const Batch> batches);

/// The batch itself if all its tensors are dense, otherwise a copy with dense tensors. Throws the same errors as stack.
Batch dense_batch(Batch batch);

/// Views of row `index` of a batch of dense tensors, without the batch axis.
Example row_view(const Batch& batch, std::int64_t index);

/// Number of bytes of the tensor's elements.
std::int64_t bytes_of(const Tensor& tensor);

/// Throws InvalidArgument unless `tensor`, a tensor of an element, is defined and in host memory.
void check_element(const Tensor& tensor);

/// Copies the elements to `to`, in row-major order. Throws the same errors as check_element.
void copy_elements(const Tensor& from, std::byte* to);

/// Copies rows `indices` of a dense tensor in host memory into a new tensor.
Tensor gather_rows(const Tensor& from, std::span<const std::int64_t> indices);

}  // namespace lockstep::detail
