#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class GeneratorCursor final : public Cursor {
 public:
  GeneratorCursor(DatasetIterator generator, std::optional<std::int64_t> size)
      : generator_(std::move(generator)), size_(size) {}

  std::optional<Example> next() override {
    if (position_ == size_) return std::nullopt;
    std::optional<Example> element = generate();
    require<InputError>(element || !size_,
                        "from_generator: the generator ended after {} element(s), but its size was given as {}",
                        position_, size_.value_or(0));
    if (element) ++position_;
    return element;
  }

 private:
  std::optional<Example> generate() {
    try {
      std::optional<Example> element = generator_.next();
      require(!element || element->x().defined(),
              "the generator returned an Example without x; to end, it must return std::nullopt");
      return element;
    } catch (...) {
      std::rethrow_exception(with_element("from_generator", position_));
    }
  }

  DatasetIterator generator_;
  std::optional<std::int64_t> size_;
  std::int64_t position_ = 0;
};

class GeneratorSource final : public Stage {
 public:
  GeneratorSource(std::function<DatasetIterator(std::uint64_t)> make, std::optional<std::int64_t> size)
      : make_(std::move(make)), size_(size) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    DatasetIterator generator = make_(epoch);
    require(static_cast<bool>(generator), "from_generator()'s function made no generator for pass {}", epoch);
    return std::make_unique<GeneratorCursor>(std::move(generator), size_);
  }
  Extent extent() const override { return {.most = size_.value_or(Extent::endless), .exact = size_.has_value()}; }

 private:
  std::function<DatasetIterator(std::uint64_t)> make_;
  std::optional<std::int64_t> size_;
};

}  // namespace

StagePtr make_generator(std::function<DatasetIterator(std::uint64_t)> make, std::optional<std::int64_t> size) {
  return std::make_shared<GeneratorSource>(std::move(make), size);
}

}  // namespace lockstep::detail
