#include <utility>
#include <vector>

#include <lockstep/runtime/data/shuffle_draws.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

/// Draws each element from a buffer; the input's next element then takes its place.
class ShuffleCursor final : public Cursor {
 public:
  ShuffleCursor(std::unique_ptr<Cursor> input, std::int64_t buffer, ShuffleDraws draws)
      : input_(std::move(input)), capacity_(buffer), draws_(std::move(draws)) {}

  std::optional<Example> next() override {
    while (more_ && static_cast<std::int64_t>(buffer_.size()) < capacity_) {
      std::optional<Example> element = input_->next();
      more_ = element.has_value();
      if (more_) buffer_.push_back(std::move(*element));
    }
    if (buffer_.empty()) return std::nullopt;
    const std::int64_t drawn = draws_.below(static_cast<std::int64_t>(buffer_.size()));
    std::swap(buffer_[static_cast<std::size_t>(drawn)], buffer_.back());
    Example element = std::move(buffer_.back());
    buffer_.pop_back();
    return element;
  }

 private:
  std::unique_ptr<Cursor> input_;
  std::int64_t capacity_;
  ShuffleDraws draws_;
  std::vector<Example> buffer_;
  bool more_ = true;
};

class Shuffle final : public UnaryStage {
 public:
  Shuffle(StagePtr input, const ShuffleOptions& options)
      : UnaryStage(std::move(input)), seed_(options.seed), buffer_(options.buffer) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    const std::int64_t buffer = buffer_ == ShuffleOptions::whole ? input_->extent().most : buffer_;
    return std::make_unique<ShuffleCursor>(input_->open(epoch), buffer, ShuffleDraws(seed_, epoch));
  }
  bool can_peek() const override { return false; }
  /// Known for all elements, as their order is not.
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return begin == 0 && end == input_->size() ? input_->rows_between(begin, end, level) : std::nullopt;
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    return with_input(input_->fixed_part(first, count), *this);
  }
  StagePtr row_numbers(RowTensors& tensors) const override { return with_input(input_->row_numbers(tensors), *this); }

 private:
  std::uint64_t seed_;
  std::int64_t buffer_;
};

}  // namespace

StagePtr make_shuffle(StagePtr input, const ShuffleOptions& options) {
  return std::make_shared<Shuffle>(std::move(input), options);
}

}  // namespace lockstep::detail
