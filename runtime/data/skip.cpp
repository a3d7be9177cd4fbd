#include <algorithm>
#include <utility>

#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class SkipCursor final : public Cursor {
 public:
  SkipCursor(std::unique_ptr<Cursor> input, std::int64_t count) : input_(std::move(input)), left_(count) {}

  std::optional<Example> next() override {
    pass_over();
    return input_->next();
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    pass_over();
    return input_->next_batch(rows);
  }

 private:
  void pass_over() {
    while (left_ > 0 && input_->next()) --left_;
    left_ = 0;
  }

  std::unique_ptr<Cursor> input_;
  std::int64_t left_;
};

class Skip final : public Stage {
 public:
  Skip(StagePtr input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<SkipCursor>(input_->open(epoch), count_);
  }
  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> elements = input_->size();
    if (!elements) return std::nullopt;
    return std::max<std::int64_t>(0, *elements - count_);
  }
  std::int64_t dropped_rows() const override { return input_->dropped_rows(); }

 private:
  StagePtr input_;
  std::int64_t count_;
};

}  // namespace

StagePtr make_skip(StagePtr input, std::int64_t count) { return std::make_shared<Skip>(std::move(input), count); }

}  // namespace lockstep::detail
