#include <algorithm>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

using ReadRows = std::function<Batch(std::int64_t begin, std::int64_t end)>;

std::int64_t row_bytes(const Tensor& rows) {
  return rows.elements() / rows.dim(0) * static_cast<std::int64_t>(size_of(rows.dtype()));
}

/// Reads the requested rows and, if they are few, some megabytes of rows ahead.
class RowCursor final : public Cursor {
 public:
  RowCursor(const ReadRows& read, std::int64_t rows) : read_(read), rows_(rows) {}

  std::optional<Example> next() override {
    if (position_ == rows_) return std::nullopt;
    if (position_ >= end_) read_block(1);
    const std::int64_t row = position_++ - begin_;
    return row_view(block_, row);
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    const std::int64_t wanted = std::min(rows, rows_ - position_);
    if (wanted == 0) return std::nullopt;
    if (position_ >= end_) read_block(wanted);
    if (position_ + wanted > end_) return Cursor::next_batch(wanted);  // the batch spans two blocks
    const std::int64_t first = position_ - begin_;
    position_ += wanted;
    return block_.each([&](const Tensor& tensor) { return tensor.slice_view(0, first, first + wanted); });
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t skipped = std::min(count, rows_ - position_);
    position_ += skipped;
    return skipped;
  }

 private:
  void read_block(std::int64_t wanted) {
    constexpr std::int64_t block_bytes = 1 << 22;
    // The size of a row is known only after the first read.
    const std::int64_t at_once =
        block_.x().defined() ? block_bytes / std::max<std::int64_t>(1, row_bytes(block_.x())) : 1;
    begin_ = position_;
    end_ = std::min(rows_, begin_ + std::max(wanted, at_once));
    try {
      block_ = read_(begin_, end_);
      check(block_.x(), "x");
      for (const Tensor& input : block_.inputs) check(input, "an input");
      for (const Tensor& target : block_.targets) check(target, "a target");
      for (const Tensor& weight : block_.sample_weights) check(weight, "a sample weight");
      block_ = dense_batch(std::move(block_));
    } catch (...) {
      std::rethrow_exception(with_element("from_rows", begin_));
    }
  }

  void check(const Tensor& tensor, const char* which) const {
    require(tensor.defined() && tensor.rank() >= 1 && tensor.dim(0) == end_ - begin_,
            "the function given to from_rows() must return {} row(s), got {} {}", end_ - begin_, which, tensor);
  }

  const ReadRows& read_;
  std::int64_t rows_;
  Batch block_{};  ///< rows [begin_, end_)
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t position_ = 0;  ///< index of the next row
};

class RowSource final : public Stage {
 public:
  RowSource(ReadRows read, std::int64_t rows) : read_(std::move(read)), rows_(rows) {}

  std::unique_ptr<Cursor> open(std::uint64_t) const override { return std::make_unique<RowCursor>(read_, rows_); }
  Extent extent() const override { return {.most = rows_}; }
  bool can_peek() const override { return true; }
  StagePtr row_numbers(RowTensors& tensors) const override {
    tensors = {.tensors = [read = read_, rows = rows_] { return read(0, rows); }, .rows = rows_};
    return make_tensor_source(row_number_set(rows_));
  }

 private:
  ReadRows read_;
  std::int64_t rows_;
};

}  // namespace

StagePtr make_row_source(ReadRows read, std::int64_t rows) {
  return std::make_shared<RowSource>(std::move(read), rows);
}

}  // namespace lockstep::detail
