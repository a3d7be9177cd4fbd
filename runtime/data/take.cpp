#include <algorithm>
#include <utility>

#include <lockstep/runtime/core/error.h>
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

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t wanted = std::min(count, left_);
    left_ -= wanted;
    return wanted == 0 ? 0 : input_->skip(wanted);
  }

 private:
  std::unique_ptr<Cursor> input_;
  std::int64_t left_;
};

class Take final : public UnaryStage {
 public:
  Take(StagePtr input, std::int64_t count) : UnaryStage(std::move(input)), count_(count) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<TakeCursor>(input_->open(epoch), count_);
  }
  Extent extent() const override {
    const Extent elements = input_->extent();
    return {.most = std::min(count_, elements.most), .exact = elements.exact || count_ == 0};
  }
  std::int64_t dropped_rows() const override {
    const std::optional<std::int64_t> elements = input_->size();
    return elements && count_ >= *elements ? input_->dropped_rows() : 0;  // fewer elements end before the remainder
  }
  bool has_fixed_parts() const override { return false; }
  StagePtr row_numbers(RowTensors& tensors) const override { return with_input(input_->row_numbers(tensors), *this); }
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

StagePtr part_of(const StagePtr& elements, std::int64_t first, std::int64_t count) {
  if (first == 0 && count == Extent::endless) return elements;
  if (StagePtr part = elements->fixed_part(first, count)) return part;
  const StagePtr rest = first == 0 ? elements : make_skip(elements, first);
  return count == Extent::endless ? rest : make_take(rest, count);
}

StagePtr no_fixed_part(const Stage& input, std::string_view name) {
  require(!input.has_fixed_parts(), "take() and skip() after {}() {} {}()", name, other_examples, name);
  return nullptr;
}

StagePtr make_take(StagePtr input, std::int64_t count) { return std::make_shared<Take>(std::move(input), count); }

}  // namespace lockstep::detail
