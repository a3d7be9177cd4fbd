#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class GeneratorCursor final : public Cursor {
 public:
  GeneratorCursor(Generator generator, std::optional<std::int64_t> size)
      : generator_(std::move(generator)), size_(size) {}

  std::optional<Example> next() override {
    if (!generator_ || position_ == size_) return std::nullopt;
    std::optional<Example> element = generate();
    if (element) {
      ++position_;
    } else {
      generator_ = nullptr;
      require<InputError>(!size_, "a generator of {} element(s) ended after {}", size_.value_or(0), position_);
    }
    return element;
  }

 private:
  std::optional<Example> generate() const {
    try {
      std::optional<Example> element = generator_();
      require(!element || element->x.defined(), "it has no x");
      return element;
    } catch (...) {
      std::rethrow_exception(with_element("generator", position_));
    }
  }

  Generator generator_;  ///< null once it has ended
  std::optional<std::int64_t> size_;
  std::int64_t position_ = 0;
};

class GeneratorSource final : public Stage {
 public:
  GeneratorSource(std::function<Generator(std::uint64_t)> make, std::optional<std::int64_t> size)
      : make_(std::move(make)), size_(size) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    Generator generator = make_(epoch);
    require(generator != nullptr, "from_generator()'s function made no generator for pass {}", epoch);
    return std::make_unique<GeneratorCursor>(std::move(generator), size_);
  }
  Extent extent() const override { return {.most = size_.value_or(Extent::endless), .exact = size_.has_value()}; }

 private:
  std::function<Generator(std::uint64_t)> make_;
  std::optional<std::int64_t> size_;
};

}  // namespace

StagePtr make_generator(std::function<Generator(std::uint64_t)> make, std::optional<std::int64_t> size) {
  return std::make_shared<GeneratorSource>(std::move(make), size);
}

}  // namespace lockstep::detail
