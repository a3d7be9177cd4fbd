#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class BatchCursor final : public Cursor {
 public:
  BatchCursor(std::unique_ptr<Cursor> input, std::int64_t rows, bool drop_remainder)
      : input_(std::move(input)), rows_(rows), drop_remainder_(drop_remainder) {}

  std::optional<Example> next() override {
    std::optional<Batch> batch = input_->next_batch(rows_);
    if (batch && drop_remainder_ && batch->size() < rows_) return std::nullopt;
    return batch;
  }

 private:
  std::unique_ptr<Cursor> input_;
  std::int64_t rows_;
  bool drop_remainder_;
};

class BatchStage final : public Stage {
 public:
  BatchStage(StagePtr input, std::int64_t rows, bool drop_remainder)
      : input_(std::move(input)), rows_(rows), drop_remainder_(drop_remainder) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<BatchCursor>(input_->open(epoch), rows_, drop_remainder_);
  }
  std::optional<std::int64_t> size() const override {
    const std::optional<std::int64_t> elements = input_->size();
    if (!elements) return std::nullopt;
    const bool partial = *elements % rows_ != 0 && !drop_remainder_;
    return *elements / rows_ + (partial ? 1 : 0);
  }
  std::int64_t dropped_rows() const override { return drop_remainder_ ? input_->size().value_or(0) % rows_ : 0; }

 private:
  StagePtr input_;
  std::int64_t rows_;
  bool drop_remainder_;
};

}  // namespace

std::optional<Batch> Cursor::next_batch(std::int64_t rows) {
  std::vector<Example> examples;
  examples.reserve(static_cast<std::size_t>(std::min<std::int64_t>(rows, 1024)));  // `rows` may exceed what is left
  while (static_cast<std::int64_t>(examples.size()) < rows) {
    std::optional<Example> element = next();
    if (!element) break;
    examples.push_back(std::move(*element));
  }
  if (examples.empty()) return std::nullopt;
  return stack(examples);
}

StagePtr make_batch(StagePtr input, std::int64_t rows, bool drop_remainder) {
  return std::make_shared<BatchStage>(std::move(input), rows, drop_remainder);
}

}  // namespace lockstep::detail
