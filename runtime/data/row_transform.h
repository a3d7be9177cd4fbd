#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include <lockstep/runtime/data/example.h>

// Functions for Dataset::map that can also be applied to some rows of a batch (RowTransform), or to all rows of a batch
// at once (RandomTransform). Functions that use ops can run on the replicas' devices
// (DistributeOptions::cache_on_devices).

namespace lockstep {

/// The position of an element in a data set. Functions for Dataset::map should derive random numbers from the position
/// and a seed only; the numbers then do not depend on the number of threads.
struct ElementId {
  std::uint64_t epoch = 0;  ///< number of the pass; each repetition of repeat() has its own
  std::int64_t number = 0;  ///< index of the element in the pass, from 0
};

/// A function of a batch or of one element. Each row of the result depends only on the same row of the argument. Given
/// only some rows of a batch, the function must return exactly these rows of the full result, bit for bit. If workers
/// share a batch, each worker can therefore transform only its own rows.
class RowTransform {
 public:
  using Function = std::function<Example(const Example&)>;  ///< from rows to transformed rows

  /// Throws InvalidArgument for an empty function.
  explicit RowTransform(Function function);
  /// The transformed rows.
  Example operator()(const Example& rows) const { return function_(rows); }

 private:
  Function function_;
};

/// A function of an element and its position, for Dataset::map before batch(), that can also be applied to the rows of
/// a batch at once. Both functions must return bit-identical rows.
class RandomTransform {
 public:
  using OfElement = std::function<Example(const Example&, const ElementId&)>;  ///< for one element
  /// For a batch, with the position of each row. The tensors may be on a GPU, which is then the calling thread's
  /// device.
  using OfRows = std::function<Batch(const Batch& rows, std::span<const ElementId>)>;

  /// Throws InvalidArgument for an empty function.
  RandomTransform(OfElement of_element, OfRows of_rows);
  /// The transformed element.
  Example operator()(const Example& element, const ElementId& id) const { return of_element_(element, id); }
  /// The transformed rows. Throws InvalidArgument unless there are as many positions as rows.
  Batch of_rows(const Batch& rows, std::span<const ElementId> ids) const;

 private:
  OfElement of_element_;
  OfRows of_rows_;
};

/// Tensors whose rows are the elements of a data set; see Dataset::row_numbers.
struct RowTensors {
  std::function<Batch()> tensors{};                                       ///< returns the tensors, in host memory
  std::int64_t rows = 0;                                                  ///< number of rows of the tensors
  std::vector<std::variant<RowTransform, RandomTransform>> transforms{};  ///< to apply to batches of rows, in order
  bool in_batches = false;  ///< whether the elements of the data set are batches of rows, after a batch()
};

}  // namespace lockstep
