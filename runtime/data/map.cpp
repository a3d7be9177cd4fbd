#include <deque>
#include <exception>
#include <utility>

#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::detail {
namespace {

using Transform = std::function<Example(const Example&, const ElementId&)>;

/// Reads one element for each thread of the caller, transforms them side by side, and gives them away in order.
class MapCursor final : public Cursor {
 public:
  MapCursor(std::unique_ptr<Cursor> input, const Transform& transform, std::uint64_t epoch)
      : input_(std::move(input)), transform_(transform), epoch_(epoch) {}

  std::optional<Example> next() override {
    if (ready_.empty()) refill();
    if (ready_.empty()) return std::nullopt;
    Result result = std::move(ready_.front());
    ready_.pop_front();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.example);
  }

 private:
  struct Result {
    Example example{};
    std::exception_ptr error{};  ///< thrown when its turn comes, after the elements before it
  };

  void refill() {
    const int wanted = more_ ? compute_threads() : 0;
    while (more_ && static_cast<int>(ready_.size()) < wanted) read();
    const ExecutionContext context = current_context();
    parallel_for(static_cast<std::int64_t>(ready_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      const ContextScope scope(context);
      for (std::int64_t i = begin; i < end; ++i) run(ready_[static_cast<std::size_t>(i)], position_ + i);
    });
    position_ += static_cast<std::int64_t>(ready_.size());
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
  std::int64_t position_ = 0;  ///< number of the first element that has not been transformed
  bool more_ = true;
};

class Map final : public Stage {
 public:
  Map(StagePtr input, Transform transform) : input_(std::move(input)), transform_(std::move(transform)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<MapCursor>(input_->open(epoch), transform_, epoch);
  }
  std::optional<std::int64_t> size() const override { return input_->size(); }
  std::int64_t dropped_rows() const override { return input_->dropped_rows(); }

 private:
  StagePtr input_;
  Transform transform_;
};

}  // namespace

StagePtr make_map(StagePtr input, Transform transform) {
  return std::make_shared<Map>(std::move(input), std::move(transform));
}

}  // namespace lockstep::detail
