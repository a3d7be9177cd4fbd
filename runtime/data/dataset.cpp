#include "lockstep/runtime/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep {
namespace {

void check_source(const Tensor& tensor, const char* which) {
  require(tensor.defined(), "a data set needs a defined {}", which);
  require(tensor.rank() >= 1, "{} of a data set needs an axis of examples, got {}", which, tensor);
  require(tensor.is_dense() && tensor.device().kind == DeviceKind::cpu,
          "{} of a data set must be dense and in host memory, got {}", which, tensor);
}

void check_cachable(const Dataset& set) {
  require(!set.is_endless(), "a data set without end cannot be cached: call cache() before repeat()");
}

class Pass {
 public:
  Pass(std::shared_ptr<const detail::Stage> stage, std::uint64_t epoch) : stage_(std::move(stage)) {
    const ContextScope host(detail::host_context());
    cursor_ = stage_->open(epoch);
  }
  std::optional<Example> operator()() {
    const ContextScope host(detail::host_context());
    return cursor_->next();
  }

 private:
  std::shared_ptr<const detail::Stage> stage_;
  std::unique_ptr<detail::Cursor> cursor_;  ///< destroyed before stage_, which it reads from
};

}  // namespace

Dataset Dataset::from_tensors(const Tensor& x, const Tensor& y, const Tensor& sample_weight) {
  const auto if_defined = [](const Tensor& tensor) {
    return tensor.defined() ? std::vector{tensor} : std::vector<Tensor>();
  };
  return from_tensors(Batch{{x}, if_defined(y), if_defined(sample_weight)});
}

Dataset Dataset::from_tensors(const Batch& rows) {
  require(!rows.inputs.empty(), "a data set needs an input");
  const Tensor& x = rows.x();
  for (const Tensor& input : rows.inputs) {
    check_source(input, "x");
    require(input.dim(0) == x.dim(0), "the inputs of a data set need equally many rows, got {} and {}", x, input);
  }
  for (const Tensor& y : rows.targets) {
    check_source(y, "y");
    require(x.dim(0) == y.dim(0), "x and y of a data set need equally many rows, got {} and {}", x, y);
  }
  for (const Tensor& weight : rows.sample_weights) {
    check_source(weight, "sample_weight");
    require(weight.shape() == Shape{x.dim(0)} || weight.shape() == Shape{x.dim(0), 1},
            "a data set of {} examples needs as many sample weights, got {}", x.dim(0), weight);
  }
  return Dataset(detail::make_tensor_source(rows));
}

Dataset Dataset::from_rows(std::function<Batch(std::int64_t, std::int64_t)> read, std::int64_t rows) {
  require(read != nullptr, "from_rows() needs a function that reads rows");
  require(rows >= 0, "from_rows() needs a number of rows of at least 0, got {}", rows);
  return Dataset(detail::make_row_source(std::move(read), rows));
}

Dataset Dataset::from_generator(std::function<DatasetIterator(std::uint64_t)> make, std::optional<std::int64_t> size) {
  require(make != nullptr, "from_generator() needs a function that makes a generator");
  require(size.value_or(0) >= 0, "from_generator() needs a size of at least 0, got {}", size.value_or(0));
  return Dataset(detail::make_generator(std::move(make), size));
}

Dataset Dataset::zip(const std::vector<Dataset>& sets) {
  require(!sets.empty(), "zip() needs a data set");
  return Dataset(detail::make_zip(stages_of(sets)));
}

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& sets, const SampleOptions& options) {
  const std::vector<double>& weights = options.weights;
  require(!sets.empty(), "sample_from_datasets() needs a data set");
  require(weights.empty() || weights.size() == sets.size(),
          "sample_from_datasets() needs a weight for each of the {} data sets, got {}", sets.size(), weights.size());
  for (const double weight : weights)
    require(std::isfinite(weight) && weight >= 0, "the weights of sample_from_datasets() must not be negative, got {}",
            weight);
  require(weights.empty() || std::ranges::any_of(weights, [](double weight) { return weight > 0; }),
          "sample_from_datasets() needs a weight above 0");
  return Dataset(detail::make_sample(stages_of(sets), options));
}

std::vector<detail::StagePtr> Dataset::stages_of(const std::vector<Dataset>& sets) {
  std::vector<detail::StagePtr> stages;
  for (const Dataset& set : sets) stages.push_back(set.stage_.shared());
  return stages;
}

Dataset Dataset::map(std::function<Example(const Example&)> transform) const {
  require(transform != nullptr, "map() needs a function");
  return map(
      [transform = std::move(transform)](const Example& example, const ElementId&) { return transform(example); });
}

Dataset Dataset::map(RowTransform transform) const {
  return Dataset(detail::make_map(stage_.shared(), std::move(transform)));
}

Dataset Dataset::map(RandomTransform transform) const {
  return Dataset(detail::make_map(stage_.shared(), std::move(transform)));
}

Dataset Dataset::map(std::function<Example(const Example&, const ElementId&)> transform) const {
  require(transform != nullptr, "map() needs a function");
  return Dataset(detail::make_map(stage_.shared(), std::move(transform)));
}

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  require(options.buffer >= 1 || options.buffer == ShuffleOptions::whole,
          "the shuffle buffer must hold at least 1 example, got {}", options.buffer);
  const ContextScope host(detail::host_context());  // with fixed_parts, `shuffled` copies the tensors
  const std::int64_t most = stage_->extent().most;
  require(
      most != detail::Extent::endless || options.buffer != ShuffleOptions::whole,
      "a data set without end or of unbounded size, as of a generator without a size, cannot be shuffled as a whole: "
      "shuffle before repeat(), or set a buffer");
  if (options.buffer == ShuffleOptions::whole || options.buffer >= most)
    if (detail::StagePtr shuffled = stage_->shuffled(options)) return Dataset(std::move(shuffled));
  require(!options.fixed_parts, "fixed_parts needs a data set of tensors that is shuffled as a whole");
  return Dataset(detail::make_shuffle(stage_.shared(), options));
}

Dataset Dataset::batch(std::int64_t rows, bool drop_remainder) const {
  require(rows >= 1, "the batch size must be at least 1, got {}", rows);
  return Dataset(detail::make_batch(stage_.shared(), rows, drop_remainder));
}

Dataset Dataset::repeat(std::optional<std::int64_t> count) const {
  require(!count || *count >= 0, "repeat() needs a count of at least 0, got {}; without a count it never ends",
          count.value_or(0));
  if (count == 0) return Dataset(detail::make_take(stage_.shared(), 0));
  return Dataset(detail::make_repeat(stage_.shared(), count));
}

Dataset Dataset::take(std::int64_t count) const {
  require(count >= 0, "take() needs a count of at least 0, got {}", count);
  return Dataset(detail::part_of(stage_.shared(), 0, count));
}

Dataset Dataset::skip(std::int64_t count) const {
  require(count >= 0, "skip() needs a count of at least 0, got {}", count);
  return Dataset(detail::part_of(stage_.shared(), count, detail::Extent::endless));
}

Dataset Dataset::filter(std::function<bool(const Example&)> keep) const {
  require(keep != nullptr, "filter() needs a function");
  return Dataset(detail::make_filter(stage_.shared(), std::move(keep)));
}

Dataset Dataset::concatenate(const Dataset& next) const {
  return Dataset(detail::make_concatenate(stage_.shared(), next.stage_.shared()));
}

Dataset Dataset::cache() const {
  check_cachable(*this);
  return Dataset(detail::make_cache(stage_.shared()));
}

Dataset Dataset::cache(const std::filesystem::path& file) const {
  check_cachable(*this);
  require(!file.empty(),
          "cache() needs the name of a file, got an empty one; without a name it keeps elements in memory");
  return Dataset(detail::make_file_cache(stage_.shared(), file));
}

Dataset Dataset::unbatch() const { return Dataset(detail::make_unbatch(stage_.shared())); }

Dataset Dataset::flat_map(std::function<Dataset(const Example&)> make) const {
  require(make != nullptr, "flat_map() needs a function");
  return interleaved(std::move(make), {"flat_map", 1, detail::Extent::endless});
}

Dataset Dataset::interleave(std::function<Dataset(const Example&)> make, std::int64_t cycle_length,
                            std::int64_t block_length) const {
  require(make != nullptr, "interleave() needs a function");
  require(cycle_length >= 1 && block_length >= 1,
          "interleave() needs lengths of at least 1, got cycles of {} and "
          "blocks of {}",
          cycle_length, block_length);
  return interleaved(std::move(make), {"interleave", cycle_length, block_length});
}

Dataset Dataset::interleaved(std::function<Dataset(const Example&)> make, const detail::Interleaving& options) const {
  const auto make_stage = [make = std::move(make)](const Example& element) { return make(element).stage_.shared(); };
  return Dataset(detail::make_interleave(stage_.shared(), make_stage, options));
}

Dataset Dataset::padded_batch(std::int64_t rows, const PaddedBatchOptions& options) const {
  require(rows >= 1, "the batch size must be at least 1, got {}", rows);
  return Dataset(detail::make_batch(detail::make_padding(stage_.shared(), options), rows, options.drop_remainder));
}

Dataset Dataset::window(std::int64_t size, const WindowOptions& options) const {
  const std::int64_t shift = options.shift.value_or(size);
  require(size >= 1 && shift >= 1 && options.stride >= 1,
          "window() needs a size, shift and stride of at least 1, got {}, {} and {}", size, shift, options.stride);
  std::int64_t covered = 0;
  require(!__builtin_mul_overflow(size, options.stride, &covered),
          "window() of {} elements at a stride of {} is too long", size, options.stride);
  return Dataset(detail::make_window(stage_.shared(), size, shift, options));
}

Dataset Dataset::prefetch(std::int64_t count) const {
  require(count >= 1, "prefetch() needs a count of at least 1, got {}", count);
  return Dataset(detail::make_prefetch(stage_.shared(), count));
}

std::optional<std::int64_t> Dataset::size() const { return stage_->size(); }

bool Dataset::is_endless() const { return stage_->extent().repeated; }

std::optional<Example> Dataset::peek() const {
  const ContextScope host(detail::host_context());
  const detail::Stage& stage = stage_->to_peek();
  return stage.can_peek() ? stage.open(0)->next() : std::nullopt;
}

std::int64_t Dataset::dropped_rows() const { return stage_->dropped_rows(); }

std::optional<Dataset> Dataset::rows_of_batches(const RowWindow& window) const {
  require(window != nullptr, "rows_of_batches() needs a function");
  detail::StagePtr rows = stage_->rows_of_batches(window);
  if (!rows) return std::nullopt;
  return Dataset(std::move(rows));
}

std::optional<std::int64_t> Dataset::batch_rows(std::int64_t number) const { return stage_->batch_rows(number); }

std::optional<Dataset> Dataset::row_numbers(RowTensors& tensors) const {
  tensors = {};
  const ContextScope host(detail::host_context());
  detail::StagePtr numbers = stage_->row_numbers(tensors);
  if (!numbers) return std::nullopt;
  tensors.tensors = [make = std::move(tensors.tensors)] {
    const ContextScope here(detail::host_context());
    return make();
  };
  return Dataset(std::move(numbers));
}

DatasetIterator Dataset::epoch(std::uint64_t number) const { return Pass(stage_.shared(), number); }

}  // namespace lockstep
