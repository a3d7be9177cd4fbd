#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/scaled_weights.h>
#include <lockstep/runtime/data/shuffle_draws.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class SampleCursor final : public Cursor {
 public:
  /// Pass i is drawn with weight i of `weights`.
  SampleCursor(std::vector<std::unique_ptr<Cursor>> passes, std::vector<double> weights, bool stop_on_empty,
               ShuffleDraws draws)
      : passes_(std::move(passes)), weights_(std::move(weights)), stop_on_empty_(stop_on_empty), draws_(draws) {
    scale();
  }

  std::optional<Example> next() override {
    while (!passes_.empty()) {
      const std::size_t drawn = draw();
      if (std::optional<Example> element = passes_[drawn]->next()) return element;
      end(drawn);
    }
    return std::nullopt;
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = 0;
    while (skipped < count && !passes_.empty()) {
      const std::size_t drawn = draw();
      if (passes_[drawn]->skip(1) == 1)
        ++skipped;
      else
        end(drawn);
    }
    return skipped;
  }

 private:
  /// Index of a pass.
  std::size_t draw() {
    constexpr std::int64_t steps = std::int64_t{1} << 53;  // a double in [0, 1) has 53 bits
    double left = static_cast<double>(draws_.below(steps)) / static_cast<double>(steps) * total_;
    std::size_t drawn = 0;
    for (; drawn + 1 < scaled_.size() && left >= scaled_[drawn]; ++drawn) left -= scaled_[drawn];
    return drawn;
  }

  void end(std::size_t drawn) {
    const auto index = static_cast<std::ptrdiff_t>(drawn);
    passes_.erase(passes_.begin() + index);
    weights_.erase(weights_.begin() + index);
    if (stop_on_empty_) passes_.clear();
    scale();
  }

  void scale() {
    if (weights_.empty()) return;
    scaled_ = scaled_weights(weights_);
    total_ = std::accumulate(scaled_.begin(), scaled_.end(), 0.0);
  }

  std::vector<std::unique_ptr<Cursor>> passes_;  ///< those with elements left
  std::vector<double> weights_;                  ///< as given, since a scaled one may be rounded to 0
  std::vector<double> scaled_{};
  double total_ = 0;  ///< of scaled_
  bool stop_on_empty_;
  ShuffleDraws draws_;
};

/// The draws decide which input a batch comes from, so that workers share batches only if batch() follows this stage.
class Sample final : public Stage {
 public:
  Sample(std::vector<StagePtr> inputs, const SampleOptions& options)
      : seed_(options.seed), stop_on_empty_(options.stop_on_empty_dataset) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double weight = options.weights.empty() ? 1 : options.weights[i];
      if (weight == 0) continue;
      inputs_.push_back(std::move(inputs[i]));
      weights_.push_back(weight);
    }
  }

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override {
    std::vector<std::unique_ptr<Cursor>> passes;
    for (const StagePtr& input : inputs_) passes.push_back(input->open(epoch));
    return std::make_unique<SampleCursor>(std::move(passes), weights_, stop_on_empty_, ShuffleDraws(seed_, epoch));
  }
  Extent extent() const override {
    Extent all = inputs_.front()->extent();
    bool each_repeated = all.repeated;
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      const Extent elements = inputs_[i]->extent();
      each_repeated = each_repeated && elements.repeated;
      all = sum_of(all, elements);
    }
    if (!stop_on_empty_ || each_repeated || inputs_.size() == 1) return all;
    return {.most = all.most, .exact = all.most == 0};
  }
  std::int64_t dropped_rows() const override {
    std::int64_t rows = 0;
    for (const StagePtr& input : inputs_)
      if (__builtin_add_overflow(rows, input->dropped_rows(), &rows)) return Extent::endless;
    return rows;
  }
  bool has_fixed_parts() const override {
    return std::ranges::any_of(inputs_, [](const StagePtr& input) { return input->has_fixed_parts(); });
  }
  StagePtr fixed_part(std::int64_t, std::int64_t) const override {
    for (const StagePtr& input : inputs_) no_fixed_part(*input, "sample_from_datasets");
    return nullptr;
  }

 private:
  std::vector<StagePtr> inputs_;  ///< those with a weight above 0
  std::vector<double> weights_;
  std::uint64_t seed_;
  bool stop_on_empty_;
};

}  // namespace

StagePtr make_sample(std::vector<StagePtr> inputs, const SampleOptions& options) {
  return std::make_shared<Sample>(std::move(inputs), options);
}

}  // namespace lockstep::detail
