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

  std::int64_t skip(std::int64_t count) override {
    pass_over();
    return input_->skip(count);
  }

 private:
  void pass_over() {
    if (left_ > 0) input_->skip(left_);
    left_ = 0;
  }

  std::unique_ptr<Cursor> input_;
  std::int64_t left_;
};

class Skip final : public UnaryStage {
 public:
  Skip(StagePtr input, std::int64_t count) : UnaryStage(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<SkipCursor>(input_->open(epoch), count_);
  }
  Extent extent() const override {
    Extent elements = input_->extent();
    if (elements.most != Extent::endless) elements.most = std::max<std::int64_t>(0, elements.most - count_);
    elements.exact = elements.exact || elements.most == 0;
    return elements;
  }
  bool has_fixed_parts() const override { return false; }
  StagePtr row_numbers(RowTensors& tensors) const override { return with_input(input_->row_numbers(tensors), *this); }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    return with_input(input_->rows_of_batches(window), *this);
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    std::int64_t last = 0;
    if (__builtin_add_overflow(end, count_, &last)) return std::nullopt;
    return input_->rows_between(begin + count_, last, level);
  }

 private:
  std::int64_t count_;
};

}  // namespace

StagePtr make_skip(StagePtr input, std::int64_t count) { return std::make_shared<Skip>(std::move(input), count); }

}  // namespace lockstep::detail
