#include <deque>
#include <exception>
#include <utility>

#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::detail {
namespace {

using Transform = std::function<Example(const Example&, const ElementId&)>;

/// Reads one element per thread of the caller, or all elements of a batch, transforms them in parallel and returns them
/// in order.
class MapCursor final : public Cursor {
 public:
  MapCursor(std::unique_ptr<Cursor> input, const Transform& transform, std::uint64_t epoch)
      : input_(std::move(input)), transform_(transform), epoch_(epoch) {}

  std::optional<Example> next() override {
    if (ready_.empty()) read_and_transform(compute_threads());
    if (ready_.empty()) return std::nullopt;
    return take_ready();
  }

  /// Transforms all rows of the batch in parallel and reads no element after them, as the caller may skip it.
  std::optional<Batch> next_batch(std::int64_t rows) override {
    const std::int64_t missing = rows - static_cast<std::int64_t>(ready_.size());
    if (missing > 0) read_and_transform(missing);
    return Cursor::next_batch(rows);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    for (; skipped < count && !ready_.empty(); ++skipped) (void)take_ready();
    if (!more_ || skipped == count) return skipped;
    const std::int64_t not_transformed = input_->skip(count - skipped);
    position_ += not_transformed;
    return skipped + not_transformed;
  }

 private:
  struct Result {
    Example example{};
    std::exception_ptr error{};  ///< thrown when this element is taken, after those before it
  };

  Example take_ready() {
    Result result = std::move(ready_.front());
    ready_.pop_front();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.example);
  }

  void read_and_transform(std::int64_t count) {
    const std::size_t before = ready_.size();
    for (std::int64_t i = 0; more_ && i < count; ++i) read();
    const auto added = static_cast<std::int64_t>(ready_.size() - before);
    const ExecutionContext context = current_context();
    parallel_for(added, 1, [&](std::int64_t begin, std::int64_t end) {
      const ContextScope scope(context);
      for (std::int64_t i = begin; i < end; ++i) run(ready_[before + static_cast<std::size_t>(i)], position_ + i);
    });
    position_ += added;
  }

  void read() {
    try {
      std::optional<Example> element = input_->next();
      more_ = element.has_value();
      if (more_) ready_.push_back({.example = std::move(*element)});
    } catch (...) {
      more_ = false;
      ready_.push_back({.error = std::current_exception()});
    }
  }

  void run(Result& result, std::int64_t number) const noexcept {
    if (result.error) return;
    try {
      result.example = transform_(result.example, {epoch_, number});
    } catch (...) {
      result.error = with_element("map", number);
    }
  }

  std::unique_ptr<Cursor> input_;
  const Transform& transform_;
  std::uint64_t epoch_;
  std::deque<Result> ready_;
  std::int64_t position_ = 0;  ///< number of the next element of the input
  bool more_ = true;
};

class Map final : public Stage {
 public:
  Map(StagePtr input, Transform transform, bool by_row)
      : input_(std::move(input)), transform_(std::move(transform)), by_row_(by_row) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<MapCursor>(input_->open(epoch), transform_, epoch);
  }
  Extent extent() const override { return input_->extent(); }
  std::int64_t dropped_rows() const override { return input_->dropped_rows(); }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    const StagePtr part = input_->fixed_part(first, count);
    return part ? make_map(part, transform_, by_row_) : nullptr;
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    const StagePtr rows = by_row_ ? input_->rows_of_batches(window) : nullptr;
    return rows ? make_map(rows, transform_, by_row_) : nullptr;
  }
  std::optional<std::int64_t> batch_rows(std::int64_t number) const override {
    return by_row_ ? input_->batch_rows(number) : std::nullopt;
  }

 private:
  StagePtr input_;
  Transform transform_;
  bool by_row_;
};

}  // namespace

StagePtr make_map(StagePtr input, Transform transform, bool by_row) {
  return std::make_shared<Map>(std::move(input), std::move(transform), by_row);
}

}  // namespace lockstep::detail
