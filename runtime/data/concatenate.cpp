#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class ConcatenateCursor final : public Cursor {
 public:
  ConcatenateCursor(const Stage& first, const Stage& second, std::uint64_t epoch)
      : second_(&second), epoch_(epoch), pass_(first.open(epoch)) {}

  std::optional<Example> next() override {
    do {
      if (std::optional<Example> element = pass_->next()) return element;
    } while (start_second());
    return std::nullopt;
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    std::vector<Batch> parts;
    do {
      std::optional<Batch> part = pass_->next_batch(rows);
      if (!part) continue;
      rows -= part->size();
      parts.push_back(std::move(*part));
    } while (rows > 0 && start_second());
    if (parts.empty()) return std::nullopt;
    return join(parts);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t left = count;
    do left -= pass_->skip(left);
    while (left > 0 && start_second());
    return count - left;
  }

 private:
  /// Returns false if the second pass has been started already.
  bool start_second() {
    if (!second_) return false;
    pass_ = nullptr;  // before the second pass starts, so that their memory does not add up
    pass_ = std::exchange(second_, nullptr)->open(epoch_);
    return true;
  }

  const Stage* second_;  ///< null once its pass has started
  std::uint64_t epoch_;
  std::unique_ptr<Cursor> pass_;
};

class Concatenate final : public Stage {
 public:
  Concatenate(StagePtr first, StagePtr second) : first_(std::move(first)), second_(std::move(second)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<ConcatenateCursor>(*first_, *second_, epoch);
  }
  Extent extent() const override { return sum_of(first_->extent(), second_->extent()); }
  bool can_peek() const override { return first_->can_peek() && second_->can_peek(); }
  std::int64_t dropped_rows() const override {
    std::int64_t rows = 0;
    return __builtin_add_overflow(first_->dropped_rows(), second_->dropped_rows(), &rows) ? Extent::endless : rows;
  }
  bool has_fixed_parts() const override { return first_->has_fixed_parts() || second_->has_fixed_parts(); }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    if (!has_fixed_parts()) return nullptr;
    const std::optional<std::int64_t> of_first = first_->size();
    require(of_first.has_value(),
            "take() and skip() after concatenate() to a data set of unknown size {} concatenate()", other_examples);
    const std::int64_t begin = std::min(first, *of_first);
    const std::int64_t from_first = std::min(count, *of_first - begin);
    const std::int64_t from_second = count == Extent::endless ? count : count - from_first;
    return make_concatenate(part_of(first_, begin, from_first), part_of(second_, first - begin, from_second));
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    const StagePtr first = first_->rows_of_batches(window);
    const StagePtr second = first ? second_->rows_of_batches(window) : nullptr;
    return second ? make_concatenate(first, second) : nullptr;
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    const Extent of_first = first_->extent();
    if (!of_first.exact) return std::nullopt;
    const std::int64_t border = std::clamp(of_first.most, begin, end);
    std::optional<std::int64_t> rows = 0;
    if (begin < border) rows = first_->rows_between(begin, border, level);
    if (!rows || border == end) return rows;
    const std::optional<std::int64_t> others =
        second_->rows_between(border - of_first.most, end - of_first.most, level);
    return !others || __builtin_add_overflow(*rows, *others, &*rows) ? std::nullopt : rows;
  }

 private:
  StagePtr first_, second_;
};

}  // namespace

Extent sum_of(const Extent& a, const Extent& b) {
  const auto never_ends = [](const Extent& extent) { return extent.exact && extent.most == Extent::endless; };
  Extent sum{.exact = (a.exact && b.exact) || never_ends(a) || never_ends(b), .repeated = a.repeated || b.repeated};
  if (__builtin_add_overflow(a.most, b.most, &sum.most)) sum.most = Extent::endless;
  return sum;
}

StagePtr make_concatenate(StagePtr first, StagePtr second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}

}  // namespace lockstep::detail
