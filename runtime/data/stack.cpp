#include "lockstep/runtime/data/stack.h"

#include <cstring>
#include <vector>

#include <lockstep/runtime/core/batch_axis.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::detail {
namespace {

/// The smallest share of a copy that pays for waking a thread.
constexpr std::int64_t bytes_per_chunk = 1 << 18;

/// Calls copy_row(row, its memory) for every row of `batch`.
template <class CopyRow>
void fill_rows(const Tensor& batch, CopyRow&& copy_row) {
  const std::int64_t rows = batch.dim(0);
  if (batch.elements() == 0) return;
  const std::int64_t row_bytes = bytes_of(batch) / rows;
  auto* memory = static_cast<std::byte*>(batch.raw_data());
  parallel_for<LoopThreads::onetbb>(rows, bytes_per_chunk / row_bytes + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) copy_row(row, memory + row * row_bytes);
  });
}

using TensorList = std::vector<Tensor> Example::*;

/// Stacks tensor `index` of `list` of all examples.
Tensor stacked_tensor(std::span<const Example> examples, TensorList list, std::size_t index, const char* which) {
  const Tensor& first = (examples.front().*list)[index];
  for (const Example& example : examples) {
    const Tensor& tensor = (example.*list)[index];
    if (tensor.defined() && tensor.shape() == first.shape() && tensor.dtype() == first.dtype()) continue;
    fail("the examples of a batch need {} of one shape and dtype, got {} and {}", which, first, tensor);
  }
  const auto rows = static_cast<std::int64_t>(examples.size());
  Tensor batch = Tensor::empty(with_batch_axis(first.shape(), rows), first.dtype());
  fill_rows(batch, [&](std::int64_t row, std::byte* to) {
    copy_elements((examples[static_cast<std::size_t>(row)].*list)[index], to);
  });
  return batch;
}

std::vector<Tensor> stacked_list(std::span<const Example> examples, TensorList list, const char* which,
                                 const char* whole) {
  const std::size_t size = (examples.front().*list).size();
  for (const Example& example : examples)
    if ((example.*list).size() != size)
      fail("the examples of a batch must have equal numbers of {}, got {} and {}", whole, size, (example.*list).size());
  std::vector<Tensor> batch;
  for (std::size_t i = 0; i < size; ++i) batch.push_back(stacked_tensor(examples, list, i, which));
  return batch;
}

}  // namespace

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.elements() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

void check_element(const Tensor& tensor) {
  require(tensor.defined(), "an element of a data set has an undefined tensor: leave it out");
  require(tensor.device().kind == DeviceKind::cpu,
          "the elements of a data set must be in host memory, got {}: copy it with to_device(x, LogicalDevice{{}})",
          tensor);
}

void copy_elements(const Tensor& from, std::byte* to) {
  check_element(from);
  if (from.is_dense()) {
    std::memcpy(to, from.raw_data(), static_cast<std::size_t>(bytes_of(from)));
    return;
  }
  visit_dtype(from.dtype(), [&]<class T>() {
    const T* first = from.data<T>();
    for_each_offset(from.shape(), from.strides(), [&](std::int64_t offset) {
      std::memcpy(to, first + offset, sizeof(T));
      to += sizeof(T);
    });
  });
}

Batch stack(std::span<const Example> examples) {
  return {stacked_list(examples, &Example::inputs, "an x", "inputs"),
          stacked_list(examples, &Example::targets, "a y", "targets"),
          stacked_list(examples, &Example::sample_weights, "a sample weight", "sample weights")};
}

Batch join(std::span<const Batch> batches) {
  if (batches.size() == 1) return batches.front();
  std::vector<Example> rows;
  for (const Batch& batch : batches)
    for (std::int64_t row = 0; row < batch.size(); ++row) rows.push_back(row_view(batch, row));
  return rows.empty() ? batches.front() : stack(rows);
}

Batch dense_batch(Batch batch) {
  bool dense = true;
  (void)batch.each([&](const Tensor& tensor) {
    dense = dense && tensor.is_dense();
    return tensor;
  });
  return dense ? batch : row_view(stack(std::span(&batch, 1)), 0);
}

Example row_view(const Batch& batch, std::int64_t index) {
  return batch.each([&](const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    return tensor.slice_view(0, index, index + 1).view(without_batch_axis(shape));
  });
}

Tensor gather_rows(const Tensor& from, std::span<const std::int64_t> indices) {
  const Shape& shape = from.shape();
  const auto rows = static_cast<std::int64_t>(indices.size());
  Tensor batch = Tensor::empty(with_batch_axis(without_batch_axis(shape), rows), from.dtype());
  const std::int64_t row_bytes = rows == 0 ? 0 : bytes_of(batch) / rows;
  const auto* source = static_cast<const std::byte*>(from.raw_data());
  fill_rows(batch, [&](std::int64_t row, std::byte* to) {
    std::memcpy(to, source + indices[static_cast<std::size_t>(row)] * row_bytes, static_cast<std::size_t>(row_bytes));
  });
  return batch;
}

}  // namespace lockstep::detail
