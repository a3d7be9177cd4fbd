#include <deque>
#include <exception>
#include <source_location>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/thread/context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::detail {
namespace {

using Transform = std::function<Example(const Example&)>;

/// Reads one element for each thread of the caller, transforms them side by side, and gives them away in order.
class MapCursor final : public Cursor {
 public:
  MapCursor(std::unique_ptr<Cursor> input, const Transform& transform)
      : input_(std::move(input)), transform_(transform) {}

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
      result.example = transform_(result.example);
    } catch (...) {
      result.error = named(number);
    }
  }

  /// The exception in hand with the element's number: a lockstep::Error as it is, another as an InputError around it.
  static std::exception_ptr named(std::int64_t number) noexcept {
    try {
      try {
        throw;
      } catch (Error& error) {
        error.add_context(fmt::format("map of element {}", number));
        throw;
      } catch (const std::exception& error) {
        throw_around_it(fmt::format("map of element {}: {}", number, error.what()));
      } catch (...) {
        throw_around_it(fmt::format("map of element {}: an exception of unknown type", number));
      }
    } catch (...) {
      return std::current_exception();
    }
  }
  [[noreturn]] static void throw_around_it(std::string message) {
    std::throw_with_nested(InputError(std::move(message), std::source_location::current()));
  }

  std::unique_ptr<Cursor> input_;
  const Transform& transform_;
  std::deque<Result> ready_;
  std::int64_t position_ = 0;  ///< number of the first element that has not been transformed
  bool more_ = true;
};

class Map final : public Stage {
 public:
  Map(StagePtr input, Transform transform) : input_(std::move(input)), transform_(std::move(transform)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<MapCursor>(input_->open(epoch), transform_);
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
