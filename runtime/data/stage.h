#pragma once

// The stages that a Dataset is made of. For the files of this folder only; users see dataset.h.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep::detail {

/// A running pass over a stage. Refers to its stage, which outlives it.
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// The next element; nothing at the end, however often asked. Not called again once it has thrown.
  virtual std::optional<Example> next() = 0;
  /// The next `rows` elements, or the fewer that are left, as one batch; nothing at the end. Stacks copies of them;
  /// a stage that can do it in fewer steps says how.
  virtual std::optional<Batch> next_batch(std::int64_t rows);
  /// Passes over the next `count` elements, or the fewer that are left; says how many. What is left then is what `next`
  /// would have left. Makes them; a stage that need not says how.
  virtual std::int64_t skip(std::int64_t count);
};

/// How many elements a pass has.
struct Extent {
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

  std::int64_t most = endless;
  bool exact = true;      ///< else `most` is an upper bound: a generator ends when it ends
  bool repeated = false;  ///< over and over: it has no end

  /// What a Dataset says of it.
  std::optional<std::int64_t> size() const { return exact && most != endless ? std::optional(most) : std::nullopt; }
};

/// One step of the recipe. Never changed once made, so that passes may run at the same time.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::unique_ptr<Cursor> open(std::uint64_t epoch) const = 0;
  virtual Extent extent() const = 0;
  /// Rows that `batch` with drop_remainder leaves out of a pass; of one repetition when it never ends.
  virtual std::int64_t dropped_rows() const { return 0; }
  /// This stage with its elements in the order of a whole shuffle, when it can do that without holding them.
  virtual std::shared_ptr<const Stage> shuffled(const ShuffleOptions&) const { return nullptr; }
  /// Elements [first, first + count), or the fewer that there are, the same in every epoch, of a stage that is shuffled
  /// with fixed parts; else nothing.
  virtual std::shared_ptr<const Stage> fixed_part(std::int64_t /*first*/, std::int64_t /*count*/) const {
    return nullptr;
  }
  /// This stage of batches with only the rows of `window` of each, when it can do that without making the others.
  virtual std::shared_ptr<const Stage> rows_of_batches(const RowWindow&) const { return nullptr; }
  /// Rows of whole batch `number` of a pass that has it, when that is known beforehand.
  virtual std::optional<std::int64_t> batch_rows(std::int64_t) const { return std::nullopt; }

  std::optional<std::int64_t> size() const { return extent().size(); }
};
using StagePtr = std::shared_ptr<const Stage>;

// One for each method of Dataset; arguments are checked there.
StagePtr make_tensor_source(const Example& set);
StagePtr make_row_source(std::function<Batch(std::int64_t, std::int64_t)> read, std::int64_t rows);
StagePtr make_generator(std::function<DatasetIterator(std::uint64_t)> make, std::optional<std::int64_t> size);
/// `by_row`: of batches, each row is made from the same row alone.
StagePtr make_map(StagePtr input, std::function<Example(const Example&, const ElementId&)> transform, bool by_row);
StagePtr make_shuffle(StagePtr input, const ShuffleOptions& options);
StagePtr make_batch(StagePtr input, std::int64_t rows, bool drop_remainder);
StagePtr make_repeat(StagePtr input, std::optional<std::int64_t> count);
StagePtr make_take(StagePtr input, std::int64_t count);
StagePtr make_skip(StagePtr input, std::int64_t count);
StagePtr make_prefetch(StagePtr input, std::int64_t count);

}  // namespace lockstep::detail
