#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

/// Copies a block of `shape` between two tensors with these strides (in elements of `item` bytes), from `axis` on.
void copy_block(const std::byte* from, const Shape& from_strides, std::byte* to, const Shape& to_strides,
                const Shape& shape, std::size_t item, int axis = 0) {
  const bool last = axis + 1 == shape.rank();
  if (axis == shape.rank() || (last && from_strides[axis] == 1 && to_strides[axis] == 1)) {
    std::memcpy(to, from, item * static_cast<std::size_t>(last ? shape[axis] : 1));
    return;
  }
  const auto bytes = static_cast<std::int64_t>(item);
  for (std::int64_t i = 0; i < shape[axis]; ++i)
    copy_block(from + i * from_strides[axis] * bytes, from_strides, to + i * to_strides[axis] * bytes, to_strides,
               shape, item, axis + 1);
}

/// The size to which tensors of one batch are padded.
Shape padded_shape(std::span<const Tensor> tensors, const TensorPadding& padding, const char* which) {
  const Tensor& first = tensors.front();
  const std::vector<std::int64_t>& given = padding.shape;
  require(given.empty() || static_cast<int>(given.size()) == first.rank(),
          "padded_batch() pads {} to a shape of {} axes, got {}", which, given.size(), first);
  Shape shape = first.shape();
  for (const Tensor& tensor : tensors) {
    check_element(tensor);
    require(tensor.rank() == first.rank() && tensor.dtype() == first.dtype(),
            "the examples of a padded batch need {} of one rank and dtype, got {} and {}", which, first, tensor);
    for (int axis = 0; axis < shape.rank(); ++axis) shape[axis] = std::max(shape[axis], tensor.dim(axis));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::int64_t& size = shape[static_cast<int>(i)];
    if (given[i] == -1) continue;
    require(size <= given[i], "padded_batch() pads {} to ({}), an example has {} along axis {}", which,
            fmt::join(given, ", "), size, i);
    size = given[i];
  }
  return shape;
}

Tensor pad(std::span<const Tensor> tensors, const TensorPadding& padding, const char* which) {
  const Shape shape = padded_shape(tensors, padding, which);
  Shape batch_shape{static_cast<std::int64_t>(tensors.size())};
  for (const std::int64_t size : shape) batch_shape.push_back(size);
  const DType dtype = tensors.front().dtype();
  require(holds(dtype, padding.value), "padded_batch() pads {} with {}, which {} cannot represent", which,
          padding.value, name(dtype));
  Tensor batch = Tensor::full(batch_shape, padding.value, dtype);
  const std::size_t item = size_of(dtype);
  const auto row_bytes = static_cast<std::size_t>(shape.elements()) * item;
  auto* row = static_cast<std::byte*>(batch.raw_data());
  for (const Tensor& tensor : tensors) {
    copy_block(static_cast<const std::byte*>(tensor.raw_data()), tensor.strides(), row, shape.dense_strides(),
               tensor.shape(), item);
    row += row_bytes;
  }
  return batch;
}

using TensorList = std::vector<Tensor> Example::*;

std::vector<Tensor> pad(std::span<const Example> examples, TensorList list, const std::vector<TensorPadding>& paddings,
                        const char* which) {
  const std::size_t size = (examples.front().*list).size();
  require(paddings.size() <= size, "padded_batch() has paddings for {} {}, an example has {}", paddings.size(), which,
          size);
  std::vector<Tensor> batch;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < size; ++i) {
    tensors.clear();
    for (const Example& example : examples) {
      require((example.*list).size() == size, "the examples of a padded batch need as many {}, got {} and {}", which,
              size, (example.*list).size());
      tensors.push_back((example.*list)[i]);
    }
    batch.push_back(pad(tensors, i < paddings.size() ? paddings[i] : TensorPadding(), which));
  }
  return batch;
}

class PaddingCursor final : public Cursor {
 public:
  PaddingCursor(std::unique_ptr<Cursor> input, const PaddedBatchOptions& options)
      : input_(std::move(input)), options_(options) {}

  std::optional<Example> next() override { return input_->next(); }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    const std::vector<Example> examples = input_->next_elements(rows);
    const bool partial = static_cast<std::int64_t>(examples.size()) < rows;
    if (examples.empty() || (partial && options_.drop_remainder)) return std::nullopt;
    return Batch{pad(examples, &Example::inputs, options_.inputs, "inputs"),
                 pad(examples, &Example::targets, options_.targets, "targets"),
                 pad(examples, &Example::sample_weights, options_.sample_weights, "sample weights")};
  }

  std::int64_t skip(std::int64_t count) override { return input_->skip(count); }

 private:
  std::unique_ptr<Cursor> input_;
  const PaddedBatchOptions& options_;
};

class PaddingStage final : public UnaryStage {
 public:
  PaddingStage(StagePtr input, const PaddedBatchOptions& options) : UnaryStage(std::move(input)), options_(options) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<PaddingCursor>(input_->open(epoch), options_);
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    return with_input(input_->fixed_part(first, count), *this);
  }
  bool depends_on_batch() const override { return true; }  // the largest example decides the size of all

 private:
  PaddedBatchOptions options_;
};

}  // namespace

StagePtr make_padding(StagePtr input, const PaddedBatchOptions& options) {
  return std::make_shared<PaddingStage>(std::move(input), options);
}

}  // namespace lockstep::detail
