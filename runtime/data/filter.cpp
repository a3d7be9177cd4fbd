#include <utility>

#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

using Predicate = std::function<bool(const Example&)>;

class FilterCursor final : public Cursor {
 public:
  FilterCursor(std::unique_ptr<Cursor> input, const Predicate& keep) : input_(std::move(input)), keep_(keep) {}

  std::optional<Example> next() override {
    while (std::optional<Example> element = input_->next()) {
      const std::int64_t number = position_++;
      if (keeps(*element, number)) return element;
    }
    return std::nullopt;
  }

 private:
  bool keeps(const Example& element, std::int64_t number) const {
    try {
      return keep_(element);
    } catch (...) {
      std::rethrow_exception(with_element("filter", number));
    }
  }

  std::unique_ptr<Cursor> input_;
  const Predicate& keep_;
  std::int64_t position_ = 0;  ///< number of the input's next element
};

/// Every worker makes all elements, because only the predicate decides which ones are kept.
class Filter final : public UnaryStage {
 public:
  Filter(StagePtr input, Predicate keep) : UnaryStage(std::move(input)), keep_(std::move(keep)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<FilterCursor>(input_->open(epoch), keep_);
  }
  Extent extent() const override {
    Extent elements = input_->extent();
    elements.exact = elements.most == 0;
    return elements;
  }
  bool can_peek() const override { return false; }
  StagePtr fixed_part(std::int64_t, std::int64_t) const override { return no_fixed_part(*input_, "filter"); }

 private:
  Predicate keep_;
};

}  // namespace

StagePtr make_filter(StagePtr input, Predicate keep) {
  return std::make_shared<Filter>(std::move(input), std::move(keep));
}

}  // namespace lockstep::detail
