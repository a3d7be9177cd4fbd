#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class BatchStage final : public UnaryStage {
 public:
  /// Without a window, the batches hold all their rows.
  BatchStage(StagePtr input, std::int64_t rows, bool drop_remainder, RowWindow window = nullptr)
      : UnaryStage(std::move(input)), rows_(rows), drop_remainder_(drop_remainder), window_(std::move(window)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override;
  Extent extent() const override {
    Extent elements = input_->extent();
    if (elements.most == Extent::endless) return elements;
    const bool partial = elements.most % rows_ != 0 && !drop_remainder_;
    const std::int64_t batches = elements.most / rows_ + (partial ? 1 : 0);
    return {.most = batches, .exact = elements.exact || batches == 0};
  }
  std::int64_t dropped_rows() const override {
    std::int64_t rows = drop_remainder_ ? input_->size().value_or(0) % rows_ : 0;
    return __builtin_add_overflow(rows, input_->dropped_rows(), &rows) ? Extent::endless : rows;
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    return with_input(input_->fixed_part(elements_of(first), elements_of(count)), *this);
  }
  StagePtr row_numbers(RowTensors& tensors) const override {
    StagePtr numbers = with_input(input_->row_numbers(tensors), *this);
    tensors.in_batches = true;
    return numbers;
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    // The window in the last batch depends on that batch's size.
    if (!input_->extent().exact || input_->depends_on_batch()) return nullptr;
    return std::make_shared<BatchStage>(input_, rows_, drop_remainder_, window);
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    const Extent all = input_->extent();
    if (!all.exact) return std::nullopt;
    const std::int64_t first = std::min(elements_of(begin), all.most);
    const std::int64_t last = std::min(elements_of(end), all.most);
    if (last == Extent::endless) return std::nullopt;
    return level == 0 ? last - first : input_->rows_between(first, last, level - 1);
  }

 private:
  friend class BatchCursor;
  friend class WindowCursor;

  std::int64_t elements_of(std::int64_t batches) const {
    std::int64_t elements = 0;
    return __builtin_mul_overflow(batches, rows_, &elements) ? Extent::endless : elements;
  }

  std::int64_t rows_;
  bool drop_remainder_;
  RowWindow window_;
};

class BatchCursor : public Cursor {
 public:
  BatchCursor(const BatchStage& stage, std::uint64_t epoch)
      : stage_(stage), input_(stage.input_->open(epoch)), left_(stage.input_->extent()) {}

  std::optional<Example> next() override {
    if (!stage_.drop_remainder_ || stage_.input_->depends_on_batch()) return input_->next_batch(stage_.rows_);
    // The elements of a remainder may differ in shape, so they are not combined.
    if (left_.exact) {
      if (left_.most < stage_.rows_) {
        input_->skip(std::exchange(left_.most, 0));
        return std::nullopt;
      }
      if (left_.most != Extent::endless) left_.most -= stage_.rows_;
      return input_->next_batch(stage_.rows_);
    }
    const std::vector<Example> elements = input_->next_elements(stage_.rows_);
    if (static_cast<std::int64_t>(elements.size()) < stage_.rows_) return std::nullopt;
    return stack(elements);
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t skipped = input_->skip(stage_.elements_of(count));
    if (left_.most != Extent::endless) left_.most -= skipped;
    const bool partial = skipped % stage_.rows_ != 0 && !stage_.drop_remainder_;
    return skipped / stage_.rows_ + (partial ? 1 : 0);
  }

 protected:
  const BatchStage& stage_;
  std::unique_ptr<Cursor> input_;

 private:
  Extent left_;  ///< elements of the input after those of the batches so far, with drop_remainder
};

/// Reads the window's rows of each batch and skips the rows around them.
class WindowCursor final : public BatchCursor {
 public:
  using BatchCursor::BatchCursor;

  std::optional<Example> next() override {
    if (number_ == batches_) return std::nullopt;
    const std::int64_t rows = stage_.batch_rows(number_++).value();
    const RowRange wanted = stage_.window_(rows);
    require(0 <= wanted.begin && wanted.begin < wanted.end && wanted.end <= rows,
            "rows_of_batches() needs at least one of a batch's {} row(s), got [{}, {})", rows, wanted.begin,
            wanted.end);
    input_->skip(wanted.begin);
    std::optional<Batch> batch = input_->next_batch(wanted.end - wanted.begin);
    input_->skip(rows - wanted.end);
    return batch;
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t skipped = BatchCursor::skip(std::min(count, batches_ - number_));
    number_ += skipped;
    return skipped;
  }

 private:
  std::int64_t batches_ = stage_.extent().most;
  std::int64_t number_ = 0;  ///< index of the next batch
};

std::unique_ptr<Cursor> BatchStage::open(std::uint64_t epoch) const {
  if (window_) return std::make_unique<WindowCursor>(*this, epoch);
  return std::make_unique<BatchCursor>(*this, epoch);
}

}  // namespace

std::optional<Batch> Cursor::next_batch(std::int64_t rows) {
  const std::vector<Example> elements = next_elements(rows);
  if (elements.empty()) return std::nullopt;
  return stack(elements);
}

std::vector<Example> Cursor::next_elements(std::int64_t count) {
  std::vector<Example> elements;
  elements.reserve(static_cast<std::size_t>(std::min<std::int64_t>(count, 1024)));  // fewer elements may be left
  while (static_cast<std::int64_t>(elements.size()) < count) {
    std::optional<Example> element = next();
    if (!element) break;
    elements.push_back(std::move(*element));
  }
  return elements;
}

std::int64_t Cursor::skip(std::int64_t count) {
  std::int64_t skipped = 0;
  while (skipped < count && next()) ++skipped;
  return skipped;
}

StagePtr make_batch(StagePtr input, std::int64_t rows, bool drop_remainder) {
  return std::make_shared<BatchStage>(std::move(input), rows, drop_remainder);
}

}  // namespace lockstep::detail
