#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

void append(Example& to, Example&& part) {
  const auto move_to = [](std::vector<Tensor>& all, std::vector<Tensor>&& tensors) {
    std::move(tensors.begin(), tensors.end(), std::back_inserter(all));
  };
  move_to(to.inputs, std::move(part.inputs));
  move_to(to.targets, std::move(part.targets));
  move_to(to.sample_weights, std::move(part.sample_weights));
}

class ZipCursor final : public Cursor {
 public:
  explicit ZipCursor(std::vector<std::unique_ptr<Cursor>> inputs) : inputs_(std::move(inputs)) {}

  std::optional<Example> next() override {
    if (ended_) return std::nullopt;
    Example element;
    for (const auto& input : inputs_) {
      std::optional<Example> part = input->next();
      ended_ = !part;
      if (ended_) return std::nullopt;
      append(element, std::move(*part));
    }
    return element;
  }

  std::optional<Batch> next_batch(std::int64_t rows) override {
    if (ended_) return std::nullopt;
    std::vector<Batch> parts;
    for (const auto& input : inputs_) {
      std::optional<Batch> part = input->next_batch(rows);
      const std::int64_t found = part ? part->size() : 0;
      ended_ = ended_ || found < rows;
      if (found == 0) return std::nullopt;
      rows = found;
      parts.push_back(std::move(*part));
    }
    Batch batch;
    for (const Batch& part : parts)
      append(batch, part.each([&](const Tensor& tensor) { return tensor.slice_view(0, 0, rows); }));
    return batch;
  }

  std::int64_t skip(std::int64_t count) override {
    if (ended_) return 0;
    for (const auto& input : inputs_) {
      const std::int64_t skipped = input->skip(count);
      ended_ = ended_ || skipped < count;
      count = skipped;
    }
    return count;
  }

 private:
  std::vector<std::unique_ptr<Cursor>> inputs_;
  bool ended_ = false;  ///< an input has ended; the others may have more elements
};

class Zip final : public Stage {
 public:
  explicit Zip(std::vector<StagePtr> inputs) : inputs_(std::move(inputs)) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (const StagePtr& input : inputs_) cursors.push_back(input->open(epoch));
    return std::make_unique<ZipCursor>(std::move(cursors));
  }
  Extent extent() const override {
    Extent all{.repeated = true};
    for (const StagePtr& input : inputs_) {
      const Extent elements = input->extent();
      all.most = std::min(all.most, elements.most);
      all.exact = all.exact && elements.exact;
      all.repeated = all.repeated && elements.repeated;
    }
    all.exact = all.exact || all.most == 0;
    return all;
  }
  bool can_peek() const override {
    return std::ranges::all_of(inputs_, [](const StagePtr& input) { return input->can_peek(); });
  }
  std::int64_t dropped_rows() const override {
    std::int64_t most = 0;
    for (const StagePtr& input : inputs_) most = std::max(most, input->dropped_rows());
    return most;
  }
  bool has_fixed_parts() const override {
    return std::ranges::any_of(inputs_, [](const StagePtr& input) { return input->has_fixed_parts(); });
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    if (!has_fixed_parts()) return nullptr;
    std::vector<StagePtr> parts;
    for (const StagePtr& input : inputs_) parts.push_back(part_of(input, first, count));
    return make_zip(std::move(parts));
  }
  StagePtr rows_of_batches(const RowWindow& window) const override {
    std::vector<StagePtr> rows;
    for (const StagePtr& input : inputs_) {
      rows.push_back(input->rows_of_batches(window));
      if (!rows.back()) return nullptr;
    }
    return make_zip(std::move(rows));
  }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    std::optional<std::int64_t> rows;
    for (const StagePtr& input : inputs_) {
      rows = input->rows_between(begin, end, level);
      if (!rows) break;
    }
    return rows;
  }

 private:
  std::vector<StagePtr> inputs_;
};

}  // namespace

StagePtr make_zip(std::vector<StagePtr> inputs) { return std::make_shared<Zip>(std::move(inputs)); }

}  // namespace lockstep::detail
