#include <algorithm>
#include <utility>

#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class TakeCursor final : public Cursor {
 public:
  TakeCursor(std::unique_ptr<Cursor> input, std::int64_t count) : input_(std::move(input)), left_(count) {}

  std::optional<Example> next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return input_->next();
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    if (left_ == 0) return std::nullopt;
    const std::int64_t wanted = std::min(rows, left_);
    left_ -= wanted;
    return input_->next_batch(wanted);
  }

 private:
  std::unique_ptr<Cursor> input_;
  std::int64_t left_;
};

class Take final : public Stage {
 public:
  Take(StagePtr input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<TakeCursor>(input_->open(epoch), count_);
  }
  std::optional<std::int64_t> size() const override { return std::min(count_, input_->size().value_or(count_)); }
  std::int64_t dropped_rows() const override {
    const std::optional<std::int64_t> elements = input_->size();
    return elements && count_ >= *elements ? input_->dropped_rows() : 0;  // else it ends before the remainder
  }

 private:
  StagePtr input_;
  std::int64_t count_;
};

}  // namespace

StagePtr make_take(StagePtr input, std::int64_t count) { return std::make_shared<Take>(std::move(input), count); }

}  // namespace lockstep::detail
