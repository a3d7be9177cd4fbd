#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <lockstep/runtime/core/elements.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/data/example.h>
#include <lockstep/runtime/data/row_transform.h>

namespace lockstep {

/// One pass over a Dataset. Keeps the data set's stages alive. May be destroyed before the pass ends.
using DatasetIterator = Elements<Example>;

/// Rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin = 0;  ///< the first row
  std::int64_t end = 0;    ///< one past the last row
};
/// Returns the range of rows that is needed from a batch of `rows` rows; the range must have at least one row. Each
/// pass calls it from one thread at a time.
using RowWindow = std::function<RowRange(std::int64_t rows)>;

/// Dataset::shuffle's options.
struct ShuffleOptions {
  static constexpr std::int64_t whole = -1;  ///< value of `buffer`: all elements

  std::uint64_t seed = 0;       ///< equal seeds give equal orders
  std::int64_t buffer = whole;  ///< elements to draw from; a smaller buffer shuffles less and takes less memory
  /// Only for a data set of from_tensors() shuffled as a whole. If true, `take` and `skip` after the shuffle, also with
  /// other stages in between, select from one fixed order, which depends on the seed alone, and each epoch shuffles the
  /// selected part. If false, they select from each epoch's order.
  bool fixed_parts = false;
};

/// Dataset::window's options.
struct WindowOptions {
  std::optional<std::int64_t> shift{};  ///< distance from a window's start to the next one's; default: the size
  std::int64_t stride = 1;              ///< distance between successive elements of a window
  bool drop_remainder = false;          ///< drops windows at the end with fewer elements
};

/// How Dataset::padded_batch pads one tensor of each element: the padding is added at the end of each axis.
struct TensorPadding {
  /// Size of each axis; -1: the largest of the batch. Empty: -1 for all axes.
  std::vector<std::int64_t> shape{};
  double value = 0;  ///< value of the added elements; reading throws InvalidArgument if their dtype cannot represent it
};
/// Dataset::padded_batch's options. Element i of a list is the padding of tensor i of the list with the same name in
/// Example. Tensors without a padding are padded with 0 to the largest size.
struct PaddedBatchOptions {
  std::vector<TensorPadding> inputs{};          ///< padding of each input
  std::vector<TensorPadding> targets{};         ///< padding of each target
  std::vector<TensorPadding> sample_weights{};  ///< padding of each tensor of sample weights
  bool drop_remainder = false;                  ///< see Dataset::batch
};

/// Dataset::sample_from_datasets' options.
struct SampleOptions {
  std::vector<double> weights{};       ///< relative frequency of each data set; empty: all equal
  std::uint64_t seed = 0;              ///< equal seeds give equal orders
  bool stop_on_empty_dataset = false;  ///< ends the pass when an ended data set is drawn; false: others continue
};

namespace detail {
class Stage;
struct Interleaving;
}  // namespace detail

/// An immutable description of a sequence of examples, with the stages of tf.data. Cheap to copy. Methods that add a
/// stage return a new data set. Nothing runs before `epoch` is called, except that shuffle with fixed_parts copies the
/// tensors. Elements are in host memory and may share it with their source and with each other: do not write to them.
/// Where a stage copies the tensors of an element, a pass throws InvalidArgument if they are undefined or on a GPU.
/// Passes, and the functions that they call, run on the CPU, also inside a DeviceScope of a GPU, as tf.data does.
class Dataset {
 public:
  ///@{
  /// Example i has views of row i of the tensors. `y` and `sample_weight` may be undefined. Throws InvalidArgument
  /// unless there is an x, all tensors are dense, in host memory and have the same number n of rows, and sample weights
  /// have the shape (n) or (n, 1).
  static Dataset from_tensors(const Tensor& x, const Tensor& y = {}, const Tensor& sample_weight = {});
  static Dataset from_tensors(const Batch& rows);
  ///@}

  /// Example i is row i of data too large for memory: `read` returns rows [begin, end) as a batch. The first call of a
  /// pass reads only the rows that are needed next; later calls read ahead, up to 4 MiB of the first input. Skipped
  /// rows are not read unless they have been read ahead. Several passes may call `read` concurrently. The pass throws
  /// whatever `read` throws, as map does, with the number of the first row to read. Throws InvalidArgument for an empty
  /// function and rows < 0; a pass throws it if `read` returns no x or a tensor that does not have end - begin rows.
  static Dataset from_rows(std::function<Batch(std::int64_t begin, std::int64_t end)> read, std::int64_t rows);

  /// The elements of generators, for programs that used fit_generator. `make` creates a generator for each pass, given
  /// the pass's number. A generator is a function that returns the next element (an empty optional at the end) or a
  /// pass over another data set. With `size`, each pass has that many elements, even if the generator never ends;
  /// without it, size() is empty. A generator must not change an element that it has returned. A pass throws whatever
  /// its generator throws, as map does, InputError if the generator ends before `size`, and InvalidArgument for an
  /// element without x. Starting a pass throws whatever `make` throws, and InvalidArgument if `make` returns a pass
  /// that has ended. Throws InvalidArgument for an empty function and size < 0.
  static Dataset from_generator(std::function<DatasetIterator(std::uint64_t epoch)> make,
                                std::optional<std::int64_t> size = std::nullopt);

  /// The elements of all data sets side by side: element i has the inputs, targets and sample weights of element i of
  /// each data set, in the order of the data sets. Ends with the shortest data set. Throws InvalidArgument for no data
  /// sets.
  static Dataset zip(const std::vector<Dataset>& sets);
  /// Each element comes from a data set that is drawn by `weights`; a data set without elements left is not drawn. The
  /// draws depend only on the seed, the epoch's number, the weights and the lengths of the data sets. Throws
  /// InvalidArgument for no data sets, for weights that are negative, not finite or all 0, and if `weights` is neither
  /// empty nor has one weight for each data set.
  static Dataset sample_from_datasets(const std::vector<Dataset>& sets, const SampleOptions& options = {});

  /// Applies `transform` to each element; the results keep the order. It is called on several elements concurrently, so
  /// it must be thread-safe. After batch() an element is a whole batch. The pass throws whatever `transform` throws,
  /// with the element's number: a lockstep::Error keeps its type, any other exception is nested in an InputError.
  /// Throws InvalidArgument for an empty function.
  Dataset map(std::function<Example(const Example&)> transform) const;
  /// Like the overload above. A data set of rows_of_batches() applies `transform` only to the rows that it needs.
  Dataset map(RowTransform transform) const;
  ///@{
  /// Like the first overload, but `transform` also gets the element's position, e.g. to derive random numbers from it.
  Dataset map(RandomTransform transform) const;
  Dataset map(std::function<Example(const Example&, const ElementId&)> transform) const;
  ///@}
  /// Shuffles the elements, in a different order in every epoch. The order depends only on the options, the epoch's
  /// number and the number of elements, not on the machine. Throws InvalidArgument for a buffer of less than one
  /// element, for a set of unbounded size shuffled as a whole, and for fixed_parts unless a data set of from_tensors()
  /// is shuffled as a whole.
  Dataset shuffle(const ShuffleOptions& options = {}) const;
  /// Combines every `rows` consecutive elements into a batch of shape (rows, ...). Remaining elements form a smaller
  /// last batch or, with `drop_remainder`, are dropped, where possible without reading or transforming them. A batch of
  /// consecutive rows of a source may be a view of them. Throws InvalidArgument for rows < 1; a pass throws it for
  /// elements of one batch that differ in shape, dtype or number of tensors.
  Dataset batch(std::int64_t rows, bool drop_remainder = false) const;
  /// Repeats the elements `count` times, or without end if there is no count. Each repetition is an epoch for the
  /// stages before it. Throws InvalidArgument for count < 0.
  Dataset repeat(std::optional<std::int64_t> count = std::nullopt) const;
  ///@{
  /// The first `count` elements (take) or the elements after them (skip). Before any shuffle, or after a shuffle with
  /// fixed_parts, they split a set permanently, e.g. for validation. After a cache they select from the cached order,
  /// after repeat() from all repetitions. Skipped elements are neither read nor transformed where possible. Throws
  /// InvalidArgument for count < 0, and for stages after a shuffle with fixed_parts that cannot be split permanently:
  /// filter, flat_map, interleave, sample_from_datasets, windows that overlap, unbatch (unless the split is between two
  /// batches whose numbers of rows are known) and concatenate after a set of unknown size. Shuffles of data sets that
  /// functions of flat_map, interleave or from_generator return cannot be split: split these data sets instead.
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  ///@}
  /// The elements for which `keep` returns true. The size is unknown. The pass throws whatever `keep` throws, as map
  /// does. A pass over an endless set of which no element is kept never ends. Throws InvalidArgument for an empty
  /// function.
  Dataset filter(std::function<bool(const Example&)> keep) const;
  /// The elements of this data set, then the elements of `next`.
  Dataset concatenate(const Dataset& next) const;
  /// Keeps each element in memory when a pass first makes it. Every pass has the elements of the input's epoch 0, in
  /// their order, so put random stages after cache(). Copies of the returned data set share the cached elements; the
  /// result of another call of cache() does not. Throws InvalidArgument for an endless set.
  Dataset cache() const;
  /// Like cache(), but keeps the elements in a file. The first pass that is read to its end writes the file; later
  /// passes and later runs of the program read it and do not use the input. Until the file exists, each pass makes all
  /// of its elements, even those that a later stage skips; a pass that is not read to its end leaves no file, and the
  /// first such pass logs a warning. If the size is known, a pass counts as read to its end once it has returned the
  /// last element. Several passes, even of several programs, may write at once: each writes a temporary file in the
  /// same folder, which replaces `file` when it is complete. Only the number of elements is compared with the data set,
  /// so delete the file when the elements change. A pass throws InputError that names the file if it cannot be written,
  /// is damaged or cut short, is no cache file, or has another number of elements. Throws InvalidArgument for an
  /// endless set and an empty name.
  Dataset cache(const std::filesystem::path& file) const;
  /// The rows of batches, one by one: the inverse of batch(). The size is known if the numbers of rows of all batches
  /// are known. A pass throws InvalidArgument if the tensors of an element differ in their number of rows.
  Dataset unbatch() const;
  /// The elements of the data set that `make` returns for the first element, then those for the second, and so on.
  /// Throws the same errors as interleave.
  Dataset flat_map(std::function<Dataset(const Example&)> make) const;
  /// The elements of the data sets that `make` returns for each element: `block_length` elements from each of
  /// `cycle_length` data sets in turn. If a data set has no element left at its turn, its place in the cycle stays
  /// empty until the place's next turn, when the next data set takes the place, as in tf.data. The size is unknown. The
  /// order depends on the elements alone. Each data set is read as the epoch with this pass's number. A pass throws
  /// whatever `make` and the data sets throw, as map does. Throws InvalidArgument for an empty function and lengths
  /// below 1.
  Dataset interleave(std::function<Dataset(const Example&)> make, std::int64_t cycle_length,
                     std::int64_t block_length = 1) const;
  /// Like batch(), but for elements of unequal size: pads each to the sizes of `options`. Throws InvalidArgument for
  /// rows < 1; a pass throws it for elements of unequal rank, dtype or number of tensors, for an element larger than
  /// its given size, and for more paddings than tensors, and for a padding whose shape has another rank than its
  /// tensor.
  Dataset padded_batch(std::int64_t rows, const PaddedBatchOptions& options = {}) const;
  /// Windows of `size` elements, each combined as by batch() (tf.data instead makes a data set of each). Window i has
  /// elements i * shift + j * stride for j in [0, size). A window at the end of the data may have fewer elements.
  /// Throws InvalidArgument for a size, shift or stride below 1 and if size * stride overflows; a pass throws it in the
  /// same cases as a pass of batch().
  Dataset window(std::int64_t size, const WindowOptions& options = {}) const;
  /// Produces up to `count` elements ahead on a background thread, which ends with the pass. Throws InvalidArgument for
  /// count < 1.
  Dataset prefetch(std::int64_t count = 2) const;

  /// Number of elements (of batches, after batch()); empty if the set never ends or the number is not known in advance,
  /// as after filter() or for a generator without a size.
  std::optional<std::int64_t> size() const;
  /// Whether repeat() makes the set endless. False for a generator without a size, which may end.
  bool is_endless() const;
  /// The first element of pass 0. Calls the functions given to map and from_rows, also for some later elements, and
  /// fills cache(). Returns nothing if the data set is empty, and if this element cannot be made without calling a
  /// function given to from_generator, interleave or flat_map, without writing a file of cache(file), or without
  /// reading ahead for filter, sample_from_datasets, a prefetch() that is not the last stage, an unbatch() of unknown
  /// size or a shuffle that needs a buffer. Throws whatever the pass throws.
  std::optional<Example> peek() const;
  /// Number of elements that a pass drops in all its batch() stages with drop_remainder; if repeat() is endless, the
  /// number that each repetition drops. A batch() after another batch() drops batches, each of which counts as one
  /// element. A batch() with an unknown number of input elements counts as dropping none.
  std::int64_t dropped_rows() const;
  /// A data set of the same batches, each with only its rows in `window`. Its passes read and transform the other rows
  /// only where this cannot be avoided. Returns nothing if a pass must make all rows, for example because there is no
  /// batch(), because a shuffle or a map without a RowTransform follows batch(), or because the number of rows of the
  /// last batch is not known in advance. Throws InvalidArgument for an empty function; a pass throws it if `window`
  /// returns no row or rows that the batch does not have.
  std::optional<Dataset> rows_of_batches(const RowWindow& window) const;
  /// Number of rows of element `number`, the size of its leading axis. Empty if it is not known in advance, for example
  /// because a shuffle or a map without a RowTransform follows batch(); never empty if rows_of_batches returns a data
  /// set. Precondition: a pass has this element.
  std::optional<std::int64_t> batch_rows(std::int64_t number) const;
  /// For a data set whose elements are rows of tensors, stores in `tensors` how to make these tensors and what to apply
  /// to their rows, and returns a data set of row numbers. Each of its elements has the number of a row as x (i64) and,
  /// for each RandomTransform in `tensors`, the ElementId as another input (epoch and number, i64 of shape (2)). The
  /// data set must begin with from_tensors, from_rows or a cache of known size (the tensors are then made without
  /// filling a cache in memory), followed only by map with a RowTransform or RandomTransform, shuffle, batch, repeat,
  /// take, skip and prefetch. Returns nothing for other data sets. A pass throws InvalidArgument for a RandomTransform
  /// after batch().
  std::optional<Dataset> row_numbers(RowTensors& tensors) const;
  /// Starts pass `number`, from 0. Passes of the same number return the same elements in the same order if `read`,
  /// generators and transforms are deterministic. This method and the pass throw whatever a stage throws.
  DatasetIterator epoch(std::uint64_t number = 0) const;

 private:
  explicit Dataset(std::shared_ptr<const detail::Stage> stage) : stage_(std::move(stage)) {}
  static std::vector<std::shared_ptr<const detail::Stage>> stages_of(const std::vector<Dataset>& sets);
  Dataset interleaved(std::function<Dataset(const Example&)> make, const detail::Interleaving& options) const;

  Handle<const detail::Stage, "data set"> stage_;
};

}  // namespace lockstep
