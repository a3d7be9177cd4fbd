#include <utility>

#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class RepeatCursor final : public Cursor {
 public:
  /// Epochs [first, first + count) of `input`; without a count, from `first` on.
  RepeatCursor(const Stage& input, std::uint64_t first, std::optional<std::int64_t> count)
      : input_(input), epoch_(first), left_(count), pass_(input.open(first)) {}

  std::optional<Example> next() override {
    while (true) {
      if (std::optional<Example> element = pass_->next()) {
        pass_is_empty_ = false;
        return element;
      }
      if (left_ == 1 || pass_is_empty_) return std::nullopt;  // an empty set has no end to wait for
      if (left_) --*left_;
      pass_ = nullptr;  // before its successor starts, so that they do not add up
      pass_ = input_.open(++epoch_);
      pass_is_empty_ = true;
    }
  }

 private:
  const Stage& input_;
  std::uint64_t epoch_;
  std::optional<std::int64_t> left_;
  std::unique_ptr<Cursor> pass_;
  bool pass_is_empty_ = true;
};

class Repeat final : public Stage {
 public:
  Repeat(StagePtr input, std::optional<std::int64_t> count) : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    // Endless repetitions of different epochs start far from each other.
    const std::uint64_t first = count_ ? epoch * static_cast<std::uint64_t>(*count_) : epoch << 32;
    return std::make_unique<RepeatCursor>(*input_, first, count_);
  }
  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> elements = input_->size();
    if (elements == 0) return 0;
    std::int64_t total = 0;
    if (!elements || !count_ || __builtin_mul_overflow(*elements, *count_, &total)) return std::nullopt;
    return total;
  }
  std::int64_t dropped_rows() const override { return input_->dropped_rows() * count_.value_or(1); }

 private:
  StagePtr input_;
  std::optional<std::int64_t> count_;
};

}  // namespace

StagePtr make_repeat(StagePtr input, std::optional<std::int64_t> count) {
  return std::make_shared<Repeat>(std::move(input), count);
}

}  // namespace lockstep::detail
