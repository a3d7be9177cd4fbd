#pragma once

// The stages that a Dataset is made of. For the files of this folder only; users see dataset.h.

#include <cstdint>
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
};

/// One step of the recipe. Never changed once made, so that passes may run at the same time.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::unique_ptr<Cursor> open(std::uint64_t epoch) const = 0;
  /// Nothing when it never ends, or its end is not known.
  virtual std::optional<std::int64_t> size() const = 0;
  /// Rows that `batch` with drop_remainder leaves out of a pass; of one repetition when it never ends.
  virtual std::int64_t dropped_rows() const { return 0; }
  /// This stage with its elements in the order of a whole shuffle, when it can do that without holding them.
  virtual std::shared_ptr<const Stage> shuffled(std::uint64_t) const { return nullptr; }
};
using StagePtr = std::shared_ptr<const Stage>;

// One for each method of Dataset; arguments are checked there.
StagePtr make_tensor_source(const Example& set);
StagePtr make_generator(std::function<Generator(std::uint64_t)> make, std::optional<std::int64_t> size);
StagePtr make_map(StagePtr input, std::function<Example(const Example&, const ElementId&)> transform);
StagePtr make_shuffle(StagePtr input, const ShuffleOptions& options);
StagePtr make_batch(StagePtr input, std::int64_t rows, bool drop_remainder);
StagePtr make_repeat(StagePtr input, std::optional<std::int64_t> count);
StagePtr make_take(StagePtr input, std::int64_t count);
StagePtr make_skip(StagePtr input, std::int64_t count);
StagePtr make_prefetch(StagePtr input, std::int64_t count);

}  // namespace lockstep::detail
