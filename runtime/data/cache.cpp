#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

/// The elements that passes over a cached stage have made. Passes on several threads may use it.
class CachedElements {
 public:
  explicit CachedElements(std::optional<std::int64_t> size) : size_(size) {}

  /// Element `number`, if a pass has made it.
  std::optional<Example> find(std::int64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(number);
    return index < elements_.size() ? elements_[index] : std::nullopt;
  }
  void keep(std::int64_t number, const Example& element) {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(number);
    if (index >= elements_.size()) elements_.resize(index + 1);
    elements_[index] = element;
  }
  void end_at(std::int64_t size) {
    const std::lock_guard lock(mutex_);
    size_ = size;
  }
  /// Number of elements, once it is known.
  std::optional<std::int64_t> size() const {
    const std::lock_guard lock(mutex_);
    return size_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::optional<Example>> elements_;
  std::optional<std::int64_t> size_;
};

/// Takes elements from the cache, and makes and keeps those that are not there.
class CacheCursor final : public Cursor {
 public:
  CacheCursor(const Stage& input, CachedElements& cached) : input_(input), cached_(cached) {}

  std::optional<Example> next() override {
    if (position_ == cached_.size()) return std::nullopt;
    std::optional<Example> element = cached_.find(position_);
    if (!element) element = make();
    if (element) ++position_;
    return element;
  }

  std::int64_t skip(std::int64_t count) override {
    const std::optional<std::int64_t> size = cached_.size();
    if (!size) return Cursor::skip(count);
    const std::int64_t skipped = std::min(count, *size - position_);
    position_ += skipped;
    return skipped;
  }

 private:
  std::optional<Example> make() {
    if (!pass_) pass_ = input_.open(first_epoch);
    if (made_ < position_) pass_->skip(position_ - made_);
    std::optional<Example> element = pass_->next();
    made_ = position_ + 1;
    if (element)
      cached_.keep(position_, *element);
    else
      cached_.end_at(position_);
    return element;
  }

  /// All passes have the elements of the input's first pass, also in a program that resumes at a later one.
  static constexpr std::uint64_t first_epoch = 0;

  const Stage& input_;
  CachedElements& cached_;
  std::unique_ptr<Cursor> pass_;  ///< over the input; null until an element has to be made
  std::int64_t made_ = 0;         ///< number of the next element of `pass_`
  std::int64_t position_ = 0;
};

class Cache final : public UnaryStage {
 public:
  explicit Cache(StagePtr input) : UnaryStage(std::move(input)), cached_(input_->size()) {}

  std::unique_ptr<Cursor> open(std::uint64_t) const override { return std::make_unique<CacheCursor>(*input_, cached_); }
  bool has_fixed_parts() const override { return false; }
  StagePtr row_numbers(RowTensors& tensors) const override {
    RowTensors rows;
    const StagePtr numbers = input_->row_numbers(rows);
    if (!numbers || !rows.in_batches) return rows_of_elements(input_, tensors);
    tensors = std::move(rows);  // batches may differ in size
    return make_cache(numbers);
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    const StagePtr rows = input_->rows_of_batches(window);
    return rows ? make_cache(rows) : nullptr;
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return input_->rows_between(begin, end, level);
  }

 private:
  mutable CachedElements cached_;
};

}  // namespace

StagePtr rows_of_elements(const StagePtr& elements, RowTensors& tensors) {
  const std::optional<std::int64_t> size = elements->size();
  if (!size) return nullptr;
  const auto all = [elements, size] {
    std::optional<Batch> rows = elements->open(/*epoch=*/0)->next_batch(*size);
    return rows.value_or(Batch());
  };
  tensors = {.tensors = all, .rows = *size};
  return make_tensor_source(row_number_set(*size));
}

StagePtr make_cache(StagePtr input) { return std::make_shared<Cache>(std::move(input)); }

}  // namespace lockstep::detail
