#include <utility>
#include <vector>

#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class RepeatCursor final : public Cursor {
 public:
  /// Reads epochs [first, first + count) of `input`, or all epochs from `first` on if there is no count.
  RepeatCursor(const Stage& input, std::uint64_t first, std::optional<std::int64_t> count)
      : input_(input), epoch_(first), left_(count), pass_(input.open(first)) {}

  std::optional<Example> next() override {
    do {
      if (std::optional<Example> element = pass_->next()) {
        pass_is_empty_ = false;
        return element;
      }
    } while (start_next_pass());
    return std::nullopt;
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    std::vector<Batch> parts;
    do {
      std::optional<Batch> part = pass_->next_batch(rows);
      if (!part) continue;
      pass_is_empty_ = false;
      rows -= part->size();
      parts.push_back(std::move(*part));
    } while (rows > 0 && start_next_pass());
    if (parts.empty()) return std::nullopt;
    return join(parts);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t left = count;
    do {
      const std::int64_t skipped = pass_->skip(left);
      if (skipped > 0) pass_is_empty_ = false;
      left -= skipped;
    } while (left > 0 && start_next_pass());
    return count - left;
  }

 private:
  /// Returns false if there is no next pass.
  bool start_next_pass() {
    if (left_ == 1 || pass_is_empty_) return false;  // an empty set would be repeated forever
    if (left_) --*left_;
    pass_ = nullptr;  // before the next pass starts, so that their memory does not add up
    pass_ = input_.open(++epoch_);
    pass_is_empty_ = true;
    return true;
  }

  const Stage& input_;
  std::uint64_t epoch_;
  std::optional<std::int64_t> left_;
  std::unique_ptr<Cursor> pass_;
  bool pass_is_empty_ = true;
};

class Repeat final : public UnaryStage {
 public:
  Repeat(StagePtr input, std::optional<std::int64_t> count) : UnaryStage(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    // Endless repetitions start 2^32 epochs apart, so that they do not overlap.
    const std::uint64_t first = count_ ? epoch * static_cast<std::uint64_t>(*count_) : epoch << 32;
    return std::make_unique<RepeatCursor>(*input_, first, count_);
  }
  Extent extent() const override {
    Extent elements = input_->extent();
    if (elements.most == 0) return elements;
    elements.repeated = elements.repeated || !count_;
    if (!count_ || __builtin_mul_overflow(elements.most, *count_, &elements.most)) elements.most = Extent::endless;
    return elements;
  }
  std::int64_t dropped_rows() const override {
    std::int64_t rows = 0;
    return __builtin_mul_overflow(input_->dropped_rows(), count_.value_or(1), &rows) ? Extent::endless : rows;
  }
  bool has_fixed_parts() const override { return false; }
  StagePtr row_numbers(RowTensors& tensors) const override { return with_input(input_->row_numbers(tensors), *this); }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    return with_input(input_->rows_of_batches(window), *this);
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    const Extent of_pass = input_->extent();
    if (begin == end) return 0;
    if (!of_pass.exact || of_pass.most == 0) return std::nullopt;
    const auto rows = [&](std::int64_t from, std::int64_t to) { return input_->rows_between(from, to, level); };
    const std::int64_t first = begin % of_pass.most;
    const std::int64_t last = (end - 1) % of_pass.most + 1;
    const std::int64_t more_passes = (end - 1) / of_pass.most - begin / of_pass.most;
    if (more_passes == 0) return rows(first, last);
    const std::optional<std::int64_t> of_first = rows(first, of_pass.most);
    const std::optional<std::int64_t> of_last = of_first ? rows(0, last) : std::nullopt;
    std::optional<std::int64_t> sum = of_last ? rows(0, of_pass.most) : std::nullopt;
    const bool overflows = !sum || __builtin_mul_overflow(*sum, more_passes - 1, &*sum) ||
                           __builtin_add_overflow(*sum, *of_first, &*sum) ||
                           __builtin_add_overflow(*sum, *of_last, &*sum);
    return overflows ? std::nullopt : sum;
  }

 private:
  std::optional<std::int64_t> count_;
};

}  // namespace

StagePtr make_repeat(StagePtr input, std::optional<std::int64_t> count) {
  return std::make_shared<Repeat>(std::move(input), count);
}

}  // namespace lockstep::detail
