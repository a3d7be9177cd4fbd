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

class Prefetch final : public Stage {
 public:
  Prefetch(StagePtr input, std::int64_t count) : input_(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<PrefetchCursor>(input_->open(epoch), count_);
  }
  const Stage& to_peek() const override { return input_->to_peek(); }
  Extent extent() const override { return input_->extent(); }
  std::int64_t dropped_rows() const override { return input_->dropped_rows(); }
  bool has_fixed_parts() const override { return input_->has_fixed_parts(); }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    const StagePtr part = input_->fixed_part(first, count);
    return part ? make_prefetch(part, count_) : nullptr;
  }
  StagePtr row_numbers(RowTensors& tensors) const override { return input_->row_numbers(tensors); }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    const StagePtr rows = input_->rows_of_batches(window);
    return rows ? make_prefetch(rows, count_) : nullptr;
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return input_->rows_between(begin, end, level);
  }

 private:
  StagePtr input_;
  std::int64_t count_;
};

}  // namespace

StagePtr make_prefetch(StagePtr input, std::int64_t count) {
  return std::make_shared<Prefetch>(std::move(input), count);
}

}  // namespace lockstep::detail
