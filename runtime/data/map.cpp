#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <utility>

#include <lockstep/runtime/core/error.h>
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
    std::atomic<std::int64_t> taken = 0;  // threads take elements one by one: some, such as large images, take longer
    parallel_for<LoopThreads::onetbb>(std::min<std::int64_t>(added, compute_threads()), 1,
                                      [&](std::int64_t, std::int64_t) {
                                        const ContextScope scope(context);
                                        for (std::int64_t i = taken++; i < added; i = taken++)
                                          run(ready_[before + static_cast<std::size_t>(i)], position_ + i);
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

Transform transform_of(const MapFunction& function) {
  if (const auto* const rows = std::get_if<RowTransform>(&function))
    return [transform = *rows](const Example& element, const ElementId&) { return transform(element); };
  if (const auto* const random = std::get_if<RandomTransform>(&function)) return *random;
  return std::get<Transform>(function);
}

/// Adds its position to an element of row numbers.
Example with_id(const Example& numbers, const ElementId& id) {
  require(numbers.x().rank() == 0, "a RandomTransform transforms elements: map before batch()");
  Example result = numbers;
  result.inputs.push_back(Tensor::from(std::vector<std::int64_t>{static_cast<std::int64_t>(id.epoch), id.number}, {2}));
  return result;
}

class Map final : public UnaryStage {
 public:
  Map(StagePtr input, MapFunction function)
      : UnaryStage(std::move(input)), function_(std::move(function)), transform_(transform_of(function_)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<MapCursor>(input_->open(epoch), transform_, epoch);
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    return with_input(input_->fixed_part(first, count), *this);
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    return is_by_row() ? with_input(input_->rows_of_batches(window), *this) : nullptr;
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return is_by_row() && level == 0 ? input_->rows_between(begin, end, level) : std::nullopt;
  }
  StagePtr row_numbers(RowTensors& tensors) const override {
    StagePtr numbers = input_->row_numbers(tensors);
    if (!numbers || std::holds_alternative<Transform>(function_)) return nullptr;
    if (is_by_row()) {
      tensors.transforms.emplace_back(std::get<RowTransform>(function_));
      return numbers;
    }
    tensors.transforms.emplace_back(std::get<RandomTransform>(function_));
    return make_map(std::move(numbers), with_id);
  }

 private:
  bool is_by_row() const { return std::holds_alternative<RowTransform>(function_); }

  MapFunction function_;
  Transform transform_;
};

}  // namespace

StagePtr make_map(StagePtr input, MapFunction function) {
  return std::make_shared<Map>(std::move(input), std::move(function));
}

}  // namespace lockstep::detail
