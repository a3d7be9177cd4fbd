#include <utility>

#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/thread/background_queue.h>

namespace lockstep::detail {
namespace {

class PrefetchCursor final : public Cursor {
 public:
  PrefetchCursor(std::unique_ptr<Cursor> input, std::int64_t count)
      : ahead_(count, [input = std::move(input)] { return input->next(); }) {}

  std::optional<Example> next() override { return ahead_.next(); }

 private:
  BackgroundQueue<Example> ahead_;
};

class Prefetch final : public UnaryStage {
 public:
  Prefetch(StagePtr input, std::int64_t count) : UnaryStage(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<PrefetchCursor>(input_->open(epoch), count_);
  }
  bool can_peek() const override { return false; }
  const Stage& to_peek() const override { return input_->to_peek(); }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    return with_input(input_->fixed_part(first, count), *this);
  }
  StagePtr row_numbers(RowTensors& tensors) const override { return input_->row_numbers(tensors); }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    return with_input(input_->rows_of_batches(window), *this);
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return input_->rows_between(begin, end, level);
  }

 private:
  std::int64_t count_;
};

}  // namespace

StagePtr make_prefetch(StagePtr input, std::int64_t count) {
  return std::make_shared<Prefetch>(std::move(input), count);
}

}  // namespace lockstep::detail
