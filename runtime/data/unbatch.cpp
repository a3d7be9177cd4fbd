#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

/// Checks that all tensors of a batch have the same number of rows, and makes them dense.
Batch checked_batch(Batch batch, std::int64_t number) {
  try {
    (void)batch.each([&](const Tensor& tensor) {
      require(tensor.rank() >= 1 && tensor.dim(0) == batch.size(),
              "the tensors of a batch need equally many rows, got {} and {}", batch.x(), tensor);
      return tensor;
    });
    return dense_batch(std::move(batch));
  } catch (...) {
    std::rethrow_exception(with_element("unbatch", number));
  }
}

class UnbatchCursor final : public Cursor {
 public:
  UnbatchCursor(const Stage& input, std::uint64_t epoch) : input_(input), pass_(input.open(epoch)) {}

  std::optional<Example> next() override {
    if (!has_row()) return std::nullopt;
    const std::int64_t row = position_++;
    return row_view(batch_, row);
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    std::vector<Batch> parts;
    for (; rows > 0 && has_row(); rows -= parts.back().size()) {
      const std::int64_t begin = position_;
      position_ += std::min(rows, rows_ - begin);
      parts.push_back(batch_.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, position_); }));
    }
    if (parts.empty()) return std::nullopt;
    return join(parts);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = skip_rows(count);
    while (skipped < count) {
      // Batches whose number of rows is known are not made.
      const std::optional<std::int64_t> rows = input_.batch_rows(number_);
      if (rows && *rows <= count - skipped) {
        if (pass_->skip(1) == 0) break;
        ++number_;
        skipped += *rows;
        continue;
      }
      if (!has_row()) break;
      skipped += skip_rows(count - skipped);
    }
    return skipped;
  }

 private:
  /// Reads the next batch if the current one has no row left. Returns false at the end.
  bool has_row() {
    while (position_ == rows_) {
      std::optional<Batch> batch = pass_->next();
      if (!batch) return false;
      batch_ = checked_batch(std::move(*batch), number_++);
      rows_ = batch_.size();
      position_ = 0;
    }
    return true;
  }
  /// Skips rows of the current batch.
  std::int64_t skip_rows(std::int64_t count) {
    const std::int64_t skipped = std::min(count, rows_ - position_);
    position_ += skipped;
    return skipped;
  }

  const Stage& input_;
  std::unique_ptr<Cursor> pass_;
  Batch batch_{};
  std::int64_t rows_ = 0;      ///< of `batch_`
  std::int64_t position_ = 0;  ///< index of the next row of `batch_`
  std::int64_t number_ = 0;    ///< of the pass's next batch
};

/// Number of rows of all batches of a pass.
Extent rows_of(const Stage& batches) {
  const Extent rows = batches.extent();
  if (rows.exact && rows.most == Extent::endless) return rows;
  const Extent unknown{.exact = false, .repeated = rows.repeated};
  if (!rows.exact || rows.most == 0) return rows.most == 0 ? rows : unknown;
  const std::optional<std::int64_t> count = batches.rows_between(0, rows.most, 0);
  return count ? Extent{.most = *count} : unknown;
}

class Unbatch final : public UnaryStage {
 public:
  explicit Unbatch(StagePtr input) : UnaryStage(std::move(input)), rows_(rows_of(*input_)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<UnbatchCursor>(*input_, epoch);
  }
  Extent extent() const override { return rows_; }
  bool can_peek() const override { return rows_.exact && input_->can_peek(); }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    const std::optional<std::int64_t> first = batches_of(begin);
    const std::optional<std::int64_t> last = first ? batches_of(end) : std::nullopt;
    return last ? input_->rows_between(*first, *last, level + 1) : std::nullopt;
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    if (!has_fixed_parts()) return nullptr;
    const std::optional<std::int64_t> begin = batches_of(first);
    const std::int64_t after = count < Extent::endless - first ? first + count : Extent::endless;
    const std::optional<std::int64_t> end = batches_of(after);
    require(begin && end, "take() and skip() after unbatch(), unless of the rows of whole batches, {} unbatch()",
            other_examples);
    return make_unbatch(input_->fixed_part(*begin, *end - *begin));
  }

 private:
  /// The number of batches that consist of the first `rows` rows, or of all if there are fewer. Empty if these end
  /// within a batch, or if it is not known in advance.
  std::optional<std::int64_t> batches_of(std::int64_t rows) const {
    const std::optional<std::int64_t> batches = input_->size();
    if (!batches || rows == 0) return batches ? std::optional<std::int64_t>(0) : std::nullopt;
    if (rows_.exact && rows >= rows_.most) return batches;
    std::int64_t begin = 0;  // the answer is in [begin, end]
    std::int64_t end = *batches;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      const std::optional<std::int64_t> found = input_->rows_between(0, middle, 0);
      if (!found) return std::nullopt;
      if (*found < rows)
        begin = middle + 1;
      else
        end = middle;
    }
    return input_->rows_between(0, begin, 0) == rows ? std::optional(begin) : std::nullopt;
  }

  Extent rows_;
};

}  // namespace

StagePtr make_unbatch(StagePtr input) { return std::make_shared<Unbatch>(std::move(input)); }

}  // namespace lockstep::detail
