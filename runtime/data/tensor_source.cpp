#include <algorithm>
#include <numeric>
#include <vector>

#include <lockstep/runtime/data/shuffle_draws.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class InOrder final : public Cursor {
 public:
  explicit InOrder(const Example& set) : set_(set) {}

  std::optional<Example> next() override {
    if (position_ == set_.size()) return std::nullopt;
    const std::int64_t index = position_++;
    return row_view(set_, index);
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    if (position_ == set_.size()) return std::nullopt;
    const std::int64_t begin = position_;
    position_ += std::min(rows, set_.size() - begin);
    return set_.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, position_); });
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t skipped = std::min(count, set_.size() - position_);
    position_ += skipped;
    return skipped;
  }

 private:
  const Example& set_;
  std::int64_t position_ = 0;
};

/// Fisher-Yates shuffle of row numbers that draws each number when it is needed.
class Shuffled final : public Cursor {
 public:
  Shuffled(const Example& set, ShuffleDraws draws)
      : set_(set), draws_(std::move(draws)), left_(static_cast<std::size_t>(set.size())) {
    std::iota(left_.begin(), left_.end(), 0);
  }

  std::optional<Example> next() override {
    if (left_.empty()) return std::nullopt;
    const std::int64_t index = draw();
    return row_view(set_, index);
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    if (left_.empty()) return std::nullopt;
    indices_.resize(static_cast<std::size_t>(std::min(rows, static_cast<std::int64_t>(left_.size()))));
    for (std::int64_t& index : indices_) index = draw();
    return set_.each([&](const Tensor& tensor) { return gather_rows(tensor, indices_); });
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t skipped = std::min(count, static_cast<std::int64_t>(left_.size()));
    for (std::int64_t i = 0; i < skipped; ++i) draw();
    return skipped;
  }

 private:
  std::int64_t draw() {
    std::int64_t& drawn = left_[static_cast<std::size_t>(draws_.below(static_cast<std::int64_t>(left_.size())))];
    const std::int64_t index = drawn;
    drawn = left_.back();
    left_.pop_back();
    return index;
  }

  const Example& set_;
  ShuffleDraws draws_;
  std::vector<std::int64_t> left_;
  std::vector<std::int64_t> indices_;
};

/// Stage::rows_between of `elements` rows of `set`, which all have the same shape.
std::optional<std::int64_t> rows_in(const Example& set, std::int64_t elements, int level) {
  bool known = true;
  (void)set.each([&](const Tensor& tensor) {
    known = known && tensor.rank() > level + 1;
    for (int axis = 1; known && axis <= level + 1; ++axis) known = tensor.dim(axis) == set.x().dim(axis);
    return tensor;
  });
  for (int axis = 1; known && axis <= level + 1; ++axis)
    known = !__builtin_mul_overflow(elements, set.x().dim(axis), &elements);
  return known ? std::optional(elements) : std::nullopt;
}

class ShuffledTensorSource final : public Stage {
 public:
  /// If options.fixed_parts is set, `set` is already in the order in which take and skip split it.
  ShuffledTensorSource(const Example& set, const ShuffleOptions& options) : set_(set), options_(options) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    return std::make_unique<Shuffled>(set_, ShuffleDraws(options_.seed, epoch));
  }
  Extent extent() const override { return {.most = set_.size()}; }
  bool can_peek() const override { return true; }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return rows_in(set_, end - begin, level);
  }
  bool has_fixed_parts() const override { return options_.fixed_parts; }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    if (!options_.fixed_parts) return nullptr;
    const std::int64_t begin = std::min(first, set_.size());
    const std::int64_t end = begin + std::min(count, set_.size() - begin);
    const auto part = [&](const Tensor& tensor) { return tensor.slice_view(0, begin, end); };
    return std::make_shared<ShuffledTensorSource>(set_.each(part), options_);
  }
  StagePtr row_numbers(RowTensors& tensors) const override {
    tensors = {.tensors = [set = set_] { return set; }, .rows = set_.size()};
    return std::make_shared<ShuffledTensorSource>(row_number_set(set_.size()), options_);
  }

 private:
  Example set_;
  ShuffleOptions options_;
};

class TensorSource final : public Stage {
 public:
  explicit TensorSource(const Example& set) : set_(set) {}

  std::unique_ptr<Cursor> open(std::uint64_t) const override { return std::make_unique<InOrder>(set_); }
  Extent extent() const override { return {.most = set_.size()}; }
  bool can_peek() const override { return true; }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return rows_in(set_, end - begin, level);
  }
  StagePtr shuffled(const ShuffleOptions& options) const override {
    if (!options.fixed_parts || set_.size() == 0) return std::make_shared<ShuffledTensorSource>(set_, options);
    constexpr std::uint64_t of_no_epoch = ~std::uint64_t{0};
    Shuffled mixed(set_, ShuffleDraws(options.seed, of_no_epoch));
    return std::make_shared<ShuffledTensorSource>(*mixed.next_batch(set_.size()), options);
  }
  StagePtr row_numbers(RowTensors& tensors) const override {
    tensors = {.tensors = [set = set_] { return set; }, .rows = set_.size()};
    return make_tensor_source(row_number_set(set_.size()));
  }

 private:
  Example set_;
};

}  // namespace

Example row_number_set(std::int64_t rows) {
  const Tensor numbers = Tensor::empty({rows}, DType::i64);
  std::iota(numbers.data<std::int64_t>(), numbers.data<std::int64_t>() + rows, 0);
  return {{numbers}};
}

StagePtr make_tensor_source(const Example& set) { return std::make_shared<TensorSource>(set); }

}  // namespace lockstep::detail
