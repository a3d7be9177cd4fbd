#pragma once

// The stages of a Dataset. Only files of this folder and their tests include this; users include dataset.h.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep::detail {

/// A running pass over a stage. Refers to its stage, which must outlive it.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// The next element; empty at the end and in all later calls. Must not be called again after it has thrown.
  virtual std::optional<Example> next() = 0;
  /// The next `rows` elements, or all that are left if fewer, as one batch; empty at the end. By default stacks copies
  /// of the elements that `next` returns; cursors that can make the batch in fewer steps override it.
  virtual std::optional<Batch> next_batch(std::int64_t rows);
  /// Skips the next `count` elements, or all that are left if fewer, and returns how many it skipped. The pass then
  /// continues as if `next` had returned them. By default calls `next`; cursors that can skip elements without making
  /// them override it.
  virtual std::int64_t skip(std::int64_t count);
  /// The next `count` elements, or all that are left if fewer.
  std::vector<Example> next_elements(std::int64_t count);
};

/// Number of elements of a pass.
struct Extent {
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  std::int64_t most = endless;
  bool exact = true;      ///< false: `most` is only an upper bound, e.g. for a generator without a size
  bool repeated = false;  ///< repeat() makes the pass endless

  /// See Dataset::size.
  std::optional<std::int64_t> size() const { return exact && most != endless ? std::optional(most) : std::nullopt; }
};
/// The extent of the elements of `a` and `b` together.
Extent sum_of(const Extent& a, const Extent& b);

/// One stage of a Dataset. Immutable, so that passes may run concurrently.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::unique_ptr<Cursor> open(std::uint64_t epoch) const = 0;
  virtual Extent extent() const = 0;
  /// See Dataset::dropped_rows.
  virtual std::int64_t dropped_rows() const { return 0; }
  /// This stage shuffled as a whole, if it can shuffle without holding its elements in a buffer; else null.
  virtual std::shared_ptr<const Stage> shuffled(const ShuffleOptions&) const { return nullptr; }
  /// Whether the elements are shuffled with fixed_parts, even if a stage after the shuffle cannot be split. False after
  /// cache() and repeat(), whose order does not follow from the shuffle before them.
  virtual bool has_fixed_parts() const { return false; }
  /// For a stage that has fixed parts, elements [first, first + count), as far as they exist; they are the same in
  /// every epoch. Null for other stages. Throws InvalidArgument if a stage after the shuffle cannot be split in this
  /// way.
  virtual std::shared_ptr<const Stage> fixed_part(std::int64_t /*first*/, std::int64_t /*count*/) const {
    return nullptr;
  }
  /// A stage of the same batches, each with only its rows in `window`; null if it would have to make the other rows,
  /// too.
  virtual std::shared_ptr<const Stage> rows_of_batches(const RowWindow&) const { return nullptr; }
  /// Number of rows in elements [begin, end) of a pass; empty if not known in advance. With `level` 0, this is the sum
  /// of the sizes of the elements' leading axes; with level n, the number of elements that n + 1 calls of unbatch()
  /// make of them. Ignores windows of rows_of_batches. Precondition: the pass has these elements.
  virtual std::optional<std::int64_t> rows_between(std::int64_t /*begin*/, std::int64_t /*end*/, int /*level*/) const {
    return std::nullopt;
  }
  /// See Dataset::row_numbers. Null if this stage's elements are not rows of tensors.
  virtual std::shared_ptr<const Stage> row_numbers(RowTensors&) const { return nullptr; }
  /// Whether Dataset::peek may compute the first element of a pass: without calling functions that return generators or
  /// data sets, without writing a file, and from few elements of the source.
  virtual bool can_peek() const { return false; }
  /// The stage from which Dataset::peek takes the first element: this stage or, if it only reads ahead, its input.
  virtual const Stage& to_peek() const { return *this; }
  /// Whether a row of Cursor::next_batch's result depends on the other rows.
  virtual bool depends_on_batch() const { return false; }

  std::optional<std::int64_t> size() const { return extent().size(); }
  /// rows_between for the single element `number`, with level 0.
  std::optional<std::int64_t> batch_rows(std::int64_t number) const { return rows_between(number, number + 1, 0); }
};
using StagePtr = std::shared_ptr<const Stage>;

/// A stage with one input. By default, the functions below return the results of the input's functions. A class whose
/// order does not follow from a shuffle before it overrides has_fixed_parts to return false. A class whose first
/// element Dataset::peek may not compute (see Stage::can_peek) overrides can_peek to return false.
class UnaryStage : public Stage {
 public:
  Extent extent() const override { return input_->extent(); }
  std::int64_t dropped_rows() const override { return input_->dropped_rows(); }
  bool has_fixed_parts() const override { return input_->has_fixed_parts(); }
  bool can_peek() const override { return input_->can_peek(); }

 protected:
  explicit UnaryStage(StagePtr input) : input_(std::move(input)) {}
  /// A copy of `stage` with another input; null if `input` is null.
  template <class Derived>
  static StagePtr with_input(StagePtr input, const Derived& stage) {
    if (!input) return nullptr;
    auto copy = std::make_shared<Derived>(stage);
    copy->input_ = std::move(input);
    return copy;
  }

  StagePtr input_;
};

/// What Dataset::map applies.
using MapFunction =
    std::variant<std::function<Example(const Example&, const ElementId&)>, RowTransform, RandomTransform>;

/// How a stage interleaves the data sets that it makes from elements.
struct Interleaving {
  const char* name;  ///< name of the Dataset method, for error messages
  std::int64_t cycle_length;
  std::int64_t block_length;
};

/// Elements [first, first + count), as far as they exist: if `elements` has fixed parts, Stage::fixed_part, otherwise
/// the elements at these positions in each epoch.
StagePtr part_of(const StagePtr& elements, std::int64_t first, std::int64_t count);
/// Implements Stage::fixed_part for a stage that cannot be split by splitting its `input`. Throws InvalidArgument
/// naming the Dataset method `name` if `input` has fixed parts; otherwise returns null.
StagePtr no_fixed_part(const Stage& input, std::string_view name);
/// The end of the error messages of Stage::fixed_part.
inline constexpr const char* other_examples =
    "would select other examples in each epoch, because the examples are shuffled: call them before";

// One function for each method of Dataset. The methods check the arguments.
StagePtr make_tensor_source(const Example& set);
/// A batch whose x is the i64 vector of the row numbers 0 to `rows` - 1.
Example row_number_set(std::int64_t rows);
/// Implements Stage::row_numbers for a cache of `elements`, which has the elements of epoch 0 in every epoch. Null if
/// their number is not known.
StagePtr rows_of_elements(const StagePtr& elements, RowTensors& tensors);
StagePtr make_row_source(std::function<Batch(std::int64_t, std::int64_t)> read, std::int64_t rows);
StagePtr make_generator(std::function<DatasetIterator(std::uint64_t)> make, std::optional<std::int64_t> size);
StagePtr make_map(StagePtr input, MapFunction transform);
StagePtr make_shuffle(StagePtr input, const ShuffleOptions& options);
StagePtr make_batch(StagePtr input, std::int64_t rows, bool drop_remainder);
StagePtr make_repeat(StagePtr input, std::optional<std::int64_t> count);
StagePtr make_take(StagePtr input, std::int64_t count);
StagePtr make_skip(StagePtr input, std::int64_t count);
StagePtr make_prefetch(StagePtr input, std::int64_t count);
StagePtr make_filter(StagePtr input, std::function<bool(const Example&)> keep);
StagePtr make_cache(StagePtr input);
StagePtr make_file_cache(StagePtr input, const std::filesystem::path& file);
StagePtr make_unbatch(StagePtr input);
StagePtr make_interleave(StagePtr input, std::function<StagePtr(const Example&)> make, const Interleaving& options);
StagePtr make_window(StagePtr input, std::int64_t size, std::int64_t shift, const WindowOptions& options);
/// Returns a stage with the same elements, which Cursor::next_batch pads.
StagePtr make_padding(StagePtr input, const PaddedBatchOptions& options);
StagePtr make_zip(std::vector<StagePtr> inputs);
StagePtr make_concatenate(StagePtr first, StagePtr second);
StagePtr make_sample(std::vector<StagePtr> inputs, const SampleOptions& options);

}  // namespace lockstep::detail
