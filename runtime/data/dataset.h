#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/runtime/core/elements.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// One element of a Dataset, `Example{{x}, {y}}`: a model's inputs and targets. Tensors in the lists
/// are defined. After batch() all have a leading batch axis.
struct Example {
  /// One for each input of a model.
  std::vector<Tensor> inputs{};
  std::vector<Tensor> targets{};         ///< one for each output of a model; empty without targets
  std::vector<Tensor> sample_weights{};  ///< its weight: one for all outputs, or one for each; empty: 1

  ///@{
  /// The first input and the first target; undefined where there is none.
  const Tensor& x() const;
  const Tensor& y() const;
  ///@}
  /// Its weight for that output; undefined: 1. Precondition: if there are several weights, this one is
  /// there.
  const Tensor& sample_weight(std::size_t output = 0) const;
  ///@{
  /// The same with another x, or another y.
  Example with_x(const Tensor& other) const;
  Example with_y(const Tensor& other) const;
  ///@}
  /// The example of part(t) for each tensor t.
  template <class Part>
  Example each(const Part& part) const;

  /// Size of the leading axis: the number of rows of a batch. Throws InvalidArgument for a scalar x.
  std::int64_t size() const { return x().dim(0); }
};
/// Several examples as one: all tensors with a leading batch axis, of one size.
using Batch = Example;

/// The position of an element: besides a seed, the only input of a map's random numbers, so that they are the
/// same on any number of threads.
struct ElementId {
  std::uint64_t epoch = 0;  ///< of the pass; each repetition of repeat() has its own
  std::int64_t number = 0;  ///< from 0, in the order of the pass
};

/// One pass over a Dataset. Keeps its source alive; a pass may be destroyed at any element.
using DatasetIterator = Elements<Example>;

/// A function of a batch, or of one element, that makes each row from the same row alone: of a part of the rows it
/// makes that part of the result, with the same bits. Where several workers share batches, each one then transforms its
/// own rows only.
class RowTransform {
 public:
  using Function = std::function<Example(const Example&)>;  ///< what it is made of

  /// Throws InvalidArgument for no function.
  explicit RowTransform(Function function);
  /// The transformed rows.
  Example operator()(const Example& rows) const { return function_(rows); }

 private:
  Function function_;
};

/// Rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin = 0;  ///< the first one
  std::int64_t end = 0;    ///< the one after the last
};
/// The wanted rows of a batch of that many rows: at least one. Called by one thread at a time for each pass.
using RowWindow = std::function<RowRange(std::int64_t rows)>;

/// Dataset::shuffle's options.
struct ShuffleOptions {
  static constexpr std::int64_t whole = -1;  ///< as a buffer: all elements

  std::uint64_t seed = 0;       ///< equal seeds give equal orders
  std::int64_t buffer = whole;  ///< elements to draw from; fewer mix less and take less memory
  /// For a set of tensors, shuffled as a whole: `take` and `skip` after it split the set in one order, which depends on
  /// the seed alone, and each epoch shuffles the remaining part. Without it they split each epoch's order.
  bool fixed_parts = false;
};

namespace detail {
class Stage;
}

/// An immutable description of a sequence of examples, with the stages of tf.data. Cheap to copy; each method
/// returns a new one. Nothing runs before `epoch` is called. Elements are in host memory, and may share it with their
/// source and with each other: read them only.
class Dataset {
 public:
  ///@{
  /// Example i is row i of the tensors, as views. `y` and `sample_weight` (n) may be undefined.
  /// Throws InvalidArgument unless they are dense, in host memory, and have equally many rows.
  static Dataset from_tensors(const Tensor& x, const Tensor& y = {}, const Tensor& sample_weight = {});
  static Dataset from_tensors(const Batch& rows);
  ///@}

  /// Example i is row i of data too large for memory: `read` gives rows [begin, end), as a batch. It is called for
  /// the rows of a batch at once, for 4 MiB where those are fewer, and not for rows that are skipped before. Passes may
  /// call it at the same time. What it throws reaches the reader with the number of the first row. Throws
  /// InvalidArgument for no function and for rows < 0; when read, for another number of rows.
  static Dataset from_rows(std::function<Batch(std::int64_t begin, std::int64_t end)> read, std::int64_t rows);

  /// The elements of generators that `make` makes, one for each pass, by its number; for programs with fit_generator.
  /// A generator is a function that gives the next element, nothing at the end, or a pass over another set. With
  /// a `size` each pass has that many elements, also of a generator that never ends; without one, size() says nothing.
  /// A generator must not change an element that it gave. What it throws reaches the reader as map's errors do, and an
  /// InputError when it ends before `size`. Throws InvalidArgument for no function and for size < 0.
  static Dataset from_generator(std::function<DatasetIterator(std::uint64_t epoch)> make,
                                std::optional<std::int64_t> size = std::nullopt);

  /// `transform` of each element, in order. Called on several elements at once, so it must be safe to call from several
  /// threads. After batch() an element is a whole batch. What it throws reaches the reader with the element's number: a
  /// lockstep::Error keeps its type, another exception becomes an InputError with that one nested in it.
  Dataset map(std::function<Example(const Example&)> transform) const;
  /// The same for a transform that may be given a part of a batch's rows.
  Dataset map(RowTransform transform) const;
  /// The same with the element's place, for transforms that draw random numbers.
  Dataset map(std::function<Example(const Example&, const ElementId&)> transform) const;
  /// Another order in every epoch, which depends on the seed and the epoch's number alone, on any machine.
  /// Throws InvalidArgument for a buffer of less than one element, and for fixed parts of other sets than of tensors.
  Dataset shuffle(const ShuffleOptions& options = {}) const;
  /// Groups of `rows` elements as one, (rows, ...); the last has the rest, or is left out. A batch of neighbours in
  /// memory is a view. Throws InvalidArgument for rows < 1 and, when read, for elements of unequal shape or dtype.
  Dataset batch(std::int64_t rows, bool drop_remainder = false) const;
  /// Repeats the elements: without end, or `count` times. Each repetition is an epoch for the stages before.
  /// Throws InvalidArgument for count < 1.
  Dataset repeat(std::optional<std::int64_t> count = std::nullopt) const;
  ///@{
  /// The first `count` elements, or those after them; before any shuffle, or after one with fixed parts, they split a
  /// set permanently, e.g. for validation. Skipped elements are neither read nor transformed where possible. Throws
  /// InvalidArgument for count < 0.
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  ///@}
  /// Makes up to `count` elements ahead, on a thread that ends with the pass. Throws InvalidArgument for
  /// count < 1.
  Dataset prefetch(std::int64_t count = 2) const;

  /// Number of elements (of batches, after batch()); nothing when the set never ends, or a generator has no size.
  std::optional<std::int64_t> size() const;
  /// Whether it is known to have no end, by repeat(); a generator without a size may end.
  bool is_endless() const;
  /// Examples that batch() with drop_remainder leaves out of a pass; of one repetition when the set never ends.
  std::int64_t dropped_rows() const;
  /// The same batches with only the rows of `window` of each, in a pass that neither reads nor transforms the others
  /// unnecessarily. Nothing where all rows are needed: after batch() there is a shuffle or a map that is no
  /// RowTransform, or there is no batch(), or its last batch's number of rows is not known beforehand.
  std::optional<Dataset> rows_of_batches(const RowWindow& window) const;
  /// Rows of batch `number` of a pass that has that many. Nothing where rows_of_batches gives nothing.
  std::optional<std::int64_t> batch_rows(std::int64_t number) const;
  /// Starts pass `number`, from 0. Passes with one number give the same elements in the same order. `next` throws what
  /// a stage throws.
  DatasetIterator epoch(std::uint64_t number = 0) const;

 private:
  explicit Dataset(std::shared_ptr<const detail::Stage> stage) : stage_(std::move(stage)) {}

  Handle<const detail::Stage, "data set"> stage_;
};

template <class Part>
Example Example::each(const Part& part) const {
  const auto of = [&](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> parts;
    parts.reserve(tensors.size());
    for (const Tensor& tensor : tensors) parts.push_back(part(tensor));
    return parts;
  };
  return {of(inputs), of(targets), of(sample_weights)};  // in this order
}

}  // namespace lockstep
