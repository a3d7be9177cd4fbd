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
  /// Only for a data set of from_tensors() shuffled as a whole. If true, `take` and `skip` after the shuffle select
  /// from one fixed order, which depends on the seed alone, and each epoch shuffles the selected part. Other stages may
  /// come between the shuffle and `take` or `skip`. If false, `take` and `skip` select from each epoch's order.
  bool fixed_parts = false;
};

/// Dataset::window's options.
struct WindowOptions {
  std::optional<std::int64_t> shift{};  ///< from a window's start to the next window's start; default: the size
  std::int64_t stride = 1;              ///< distance between successive elements of a window
  bool drop_remainder = false;          ///< drops windows at the end with fewer elements
};

/// How Dataset::padded_batch pads one tensor of each element: the padding is added at the end of each axis.
struct TensorPadding {
  /// Size of each axis; -1: the largest size in the batch. Empty: -1 for all axes.
  std::vector<std::int64_t> shape{};
  double value = 0;  ///< value of the added elements; reading throws InvalidArgument if their dtype cannot represent it
};
/// Dataset::padded_batch's options. Element i of each list pads tensor i of Example's list with the same name. Tensors
/// without a padding are padded with 0 to the largest size.
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
/// stage return a new data set; they compute no elements, but shuffle with fixed_parts copies the tensors. Only passes,
/// which `epoch` starts, and `peek` compute elements. Elements are in host memory, which they may share with their
/// source and with each other: do not write to them. A pass throws InvalidArgument if a stage has to copy a tensor that
/// is undefined or on a GPU. Passes, and the functions that they call, run on the CPU, even inside a DeviceScope of a
/// GPU, as in tf.data.
class Dataset {
 public:
  ///@{
  /// Example i has views of row i of the tensors. `y` and `sample_weight` may be undefined. Throws InvalidArgument if
  /// there is no x, if a tensor is a scalar, strided or not in host memory, if the numbers of rows differ, and for
  /// sample weights that have neither the shape (n) nor (n, 1) for n rows.
  static Dataset from_tensors(const Tensor& x, const Tensor& y = {}, const Tensor& sample_weight = {});
  static Dataset from_tensors(const Batch& rows);
  ///@}

  /// Example i is row i of data too large for memory: `read` returns rows [begin, end) as a batch. The first call of a
  /// pass reads only the rows that are needed next; later calls read ahead, up to 4 MiB of the first input. Skipped
  /// rows are not read, except rows that have already been read ahead. Several passes may call `read` concurrently. The
  /// pass throws whatever `read` throws, in the same form as map, with the number of the first row to read. Throws
  /// InvalidArgument for an empty function and rows < 0; a pass throws it if `read` returns no x or a tensor that does
  /// not have end - begin rows.
  static Dataset from_rows(std::function<Batch(std::int64_t begin, std::int64_t end)> read, std::int64_t rows);

  /// The elements of generators, for programs that used fit_generator. `make` creates a generator for each pass, given
  /// the pass's number. A generator is either a function that returns the next element (an empty optional at the end)
  /// or a pass over another data set. With `size`, each pass has that many elements, even if the generator never ends;
  /// without it, size() is empty. A generator must not change an element that it has returned. A pass throws whatever
  /// its generator throws, in the same form as map. It throws InputError if the generator ends before `size`, and
  /// InvalidArgument for an element without x. Starting a pass throws whatever `make` throws, and InvalidArgument if
  /// `make` returns a pass that has ended. Throws InvalidArgument for an empty function and size < 0.
  static Dataset from_generator(std::function<DatasetIterator(std::uint64_t epoch)> make,
                                std::optional<std::int64_t> size = std::nullopt);

  /// The elements of all data sets side by side: element i has the inputs, targets and sample weights of element i of
  /// each data set, in the order of the data sets. Ends with the shortest data set. Throws InvalidArgument for no data
  /// sets.
  static Dataset zip(const std::vector<Dataset>& sets);
  /// Each element comes from a data set that is drawn by `weights`. If a drawn data set has ended, it is removed and
  /// another one is drawn; with stop_on_empty_dataset, the pass ends instead. The draws depend only on the seed, the
  /// epoch's number, the weights and the lengths of the data sets. Throws InvalidArgument for no data sets, for weights
  /// that are negative, not finite or all 0, and if the number of weights is neither 0 nor the number of data sets.
  static Dataset sample_from_datasets(const std::vector<Dataset>& sets, const SampleOptions& options = {});

  /// Applies `transform` to each element; the results keep the order. `transform` is called on several elements
  /// concurrently, so it must be thread-safe. After batch() an element is a whole batch. The pass throws whatever
  /// `transform` throws, with the element's number: a lockstep::Error keeps its type, any other exception is nested in
  /// an InputError. Throws InvalidArgument for an empty function.
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
  /// element and if a set of unbounded size is shuffled as a whole. With fixed_parts, throws it unless a data set of
  /// from_tensors() is shuffled as a whole.
  Dataset shuffle(const ShuffleOptions& options = {}) const;
  /// Combines every `rows` consecutive elements into a batch of shape (rows, ...). Remaining elements form a smaller
  /// last batch. With `drop_remainder` they are dropped, if possible without being read or transformed. A batch of
  /// consecutive rows of a source may be a view of these rows. Throws InvalidArgument for rows < 1; a pass throws it
  /// for elements of one batch that differ in shape, dtype or number of tensors.
  Dataset batch(std::int64_t rows, bool drop_remainder = false) const;
  /// Repeats the elements `count` times, or without end if there is no count. Each repetition is an epoch for the
  /// stages before it. Throws InvalidArgument for count < 0.
  Dataset repeat(std::optional<std::int64_t> count = std::nullopt) const;
  ///@{
  /// The first `count` elements (take) or the elements after them (skip). Before any shuffle, or after a shuffle with
  /// fixed_parts, these methods split a set permanently, e.g. for validation. After a cache they select from the cached
  /// order, after repeat() from all repetitions. If possible, skipped elements are neither read nor transformed. Throws
  /// InvalidArgument for count < 0. After a shuffle with fixed_parts, also throws it if a stage in between cannot be
  /// split permanently: filter, flat_map, interleave, sample_from_datasets, windows that overlap, unbatch (unless the
  /// split is between two batches whose numbers of rows are known) and concatenate after a set of unknown size.
  /// Shuffles inside a data set that a function given to flat_map, interleave or from_generator returns are not split:
  /// call take and skip inside the function.
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  ///@}
  /// The elements for which `keep` returns true. The size is unknown. The pass throws whatever `keep` throws, as map
  /// does. If the set is endless and `keep` accepts no element, a pass never ends. Throws InvalidArgument for an empty
  /// function.
  Dataset filter(std::function<bool(const Example&)> keep) const;
  /// The elements of this data set, then the elements of `next`.
  Dataset concatenate(const Dataset& next) const;
  /// Keeps each element in memory when a pass first makes it. Every pass has the elements of the input's epoch 0 in the
  /// same order, so put random stages after cache(). Copies of the returned data set share the cached elements; the
  /// result of another call of cache() does not. Throws InvalidArgument for an endless set.
  Dataset cache() const;
  /// Like cache(), but keeps the elements in a file. The first pass that is read to its end writes the file; later
  /// passes and later runs of the program read it and do not use the input. Until the file exists, each pass makes all
  /// elements, even if a later stage skips some. A pass that is not read to its end leaves no file, and the first such
  /// pass logs a warning. If the size is known, a pass counts as read to its end once it has returned the last element.
  /// Several passes, even of several programs, may write at once: each writes a temporary file in the same folder,
  /// which replaces `file` when it is complete. Reading the file checks only the number of elements against the data
  /// set, so delete the file when the elements change. A pass throws InputError, which names the file, if the file
  /// cannot be written, is damaged or cut short, is no cache file, or has another number of elements. Throws
  /// InvalidArgument for an endless set and an empty name.
  Dataset cache(const std::filesystem::path& file) const;
  /// The rows of batches, one by one: the inverse of batch(). The size is known if the numbers of rows of all batches
  /// are known. A pass throws InvalidArgument if the tensors of an element differ in their number of rows.
  Dataset unbatch() const;
  /// Calls `make` on each element and returns the elements of the first resulting data set, then of the second, and so
  /// on. Throws the same errors as interleave.
  Dataset flat_map(std::function<Dataset(const Example&)> make) const;
  /// Calls `make` on each element and interleaves the resulting data sets: takes `block_length` elements from each of
  /// `cycle_length` data sets in turn. If a data set runs out of elements, its turn ends; when it would have its next
  /// turn, a new data set takes its place, as in tf.data. The size is unknown. The order depends on the elements alone.
  /// Pass n reads epoch n of each data set. A pass throws whatever `make` and the data sets throw, as map does. Throws
  /// InvalidArgument for an empty function and lengths below 1.
  Dataset interleave(std::function<Dataset(const Example&)> make, std::int64_t cycle_length,
                     std::int64_t block_length = 1) const;
  /// Like batch(), but for elements of unequal size: pads each to the sizes of `options`. Throws InvalidArgument for
  /// rows < 1. A pass throws it if the elements of a batch differ in rank, dtype or number of tensors, if a tensor is
  /// larger than the size given for it or differs in rank from it, and if there are more paddings than tensors.
  Dataset padded_batch(std::int64_t rows, const PaddedBatchOptions& options = {}) const;
  /// Windows of `size` elements, each combined as by batch() (tf.data instead makes a data set of each window). Window
  /// i has elements i * shift + j * stride for j in [0, size). A window at the end of the data may have fewer elements.
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
  /// fills cache(). Returns nothing if the data set is empty. Also returns nothing if making the element would call a
  /// function given to from_generator, interleave or flat_map, write a file of cache(file), or read ahead for filter,
  /// sample_from_datasets, a prefetch() that is not the last stage, an unbatch() of unknown size or a shuffle that
  /// needs a buffer. Throws whatever the pass throws.
  std::optional<Example> peek() const;
  /// Number of elements that a pass drops in all its batch() stages with drop_remainder; if repeat() is endless, the
  /// number that each repetition drops. A batch() after another batch() drops batches, each of which counts as one
  /// element. A batch() with an unknown number of input elements counts as dropping 0 elements.
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
  /// For a data set whose elements are rows of tensors: stores in `tensors` how to make the tensors and which
  /// transforms to apply to their rows, and returns a data set of row numbers. The first input of its elements is the
  /// number of a row (i64). For each RandomTransform in `tensors`, another input is the ElementId (epoch and number,
  /// i64 of shape (2)). The data set must begin with from_tensors, from_rows or a cache of known size. Only map with a
  /// RowTransform or RandomTransform, shuffle, batch, repeat, take, skip and prefetch may follow. Returns nothing for
  /// other data sets. Making the tensors of a cache() in memory does not fill the cache. A pass throws InvalidArgument
  /// for a RandomTransform after batch().
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
