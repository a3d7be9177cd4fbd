#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/shape.h>
#include <lockstep/runtime/tensor/tensor.h>

// A C++ interface, with owning handles and exceptions, to the part of HDF5's C API that files of weights and data sets
// need.

/// Access to HDF5 files, for the formats based on them.
namespace lockstep::hdf5 {

/// Locks the HDF5 library for the calling thread, since many builds of HDF5 are not thread-safe. While a lock exists,
/// HDF5 does not print errors itself. Destroy it on the thread that created it.
class LibraryLock {
 public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
  LibraryLock& operator=(const LibraryLock&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  void* report_data_ = nullptr;
  int (*report_)(std::int64_t, void*) = nullptr;  ///< the error printer to restore
};

/// Owns an HDF5 identifier.
class Handle {
 public:
  /// The function that closes an identifier of this kind, e.g. H5Gclose.
  using Close = int (*)(std::int64_t);
  Handle() = default;
  /// A negative `id` is invalid and is not closed.
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  ///@{
  /// A moved-from handle is invalid.
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }
  ///@}

  /// Whether it owns an identifier.
  bool valid() const { return id_ >= 0; }
  /// The identifier. Precondition: valid.
  std::int64_t id() const { return id_; }

 private:
  void reset() {
    if (valid()) close_(std::exchange(id_, -1));
  }

  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// Whether `path` is an HDF5 file. False for files that cannot be read. Also false for zip archives: HDF5 looks for its
/// signature at bytes 0, 512, 1024, 2048, ..., and could find the signature of an HDF5 file inside the archive.
bool is_hdf5(const std::string& path);

/// Reads an HDF5 file. For a missing object, has_group and has_attribute return false, and names_in returns an empty
/// list; the other functions throw InputError naming the file, the object and the reason. All functions throw
/// InputError for soft and external links, which are not followed, for objects of another kind or type, for damaged
/// objects, and for values that are stored in other files. Not thread-safe; create, use and destroy it on one thread.
/// It holds the HDF5 lock during its lifetime, so other threads' Readers and Writers wait.
class Reader {
 public:
  /// Throws InputError for a file that cannot be read, is not an HDF5 file or is truncated.
  explicit Reader(std::string path);
  /// Reads a file in memory, which is copied. `name` stands for the path in errors. Throws InputError for bytes that
  /// are not an HDF5 file.
  Reader(std::string name, std::span<const std::byte> image);

  /// The path or name given to the constructor.
  const std::string& path() const { return path_; }
  /// Whether the file has a group of this name, e.g. "layers/dense/vars".
  bool has_group(const std::string& name) const;
  /// Sorted names of the objects in a group; empty when the group is missing.
  std::vector<std::string> names_in(const std::string& group) const;
  /// The shape of a data set; () for a scalar. Throws InputError also for more than Shape::max_rank axes.
  Shape shape_of(const std::string& dataset) const;
  /// Reads a data set of integers, or of 16, 32 or 64 bit floating-point numbers, as f32, in row-major order. Throws
  /// BrokenInvariant unless `values` has as many elements as `shape_of(dataset)`.
  void read(const std::string& dataset, std::span<float> values) const;
  /// The value of an integer data set with exactly one element; unsigned values above 2^63 - 1 are clipped.
  std::int64_t read_integer(const std::string& dataset) const;
  /// Rows [begin, end) of a data set with at least one axis. Floating-point numbers become f32, unsigned bytes u8.
  /// Other integers become i32 if i32 holds every value of their type, and i64 otherwise; unsigned 64-bit integers
  /// above 2^63 - 1 are clipped. Throws BrokenInvariant unless the data set has an axis and 0 <= begin <= end <= number
  /// of rows.
  Tensor read_rows(const std::string& dataset, std::int64_t begin, std::int64_t end) const;
  /// Whether a group ("/" is the root) has the attribute, either whole or split into parts as described at `attribute`.
  bool has_attribute(const std::string& group, const std::string& name) const;
  /// The elements of a text attribute: a scalar or an array, of fixed or variable length. Also reads an array that is
  /// split into name0, name1, ..., as Keras stores long ones.
  std::vector<std::string> attribute(const std::string& group, const std::string& name) const;

 private:
  ///@{
  /// Like has_attribute and attribute, but only for an attribute of exactly this name.
  bool has_whole_attribute(const std::string& group, const std::string& name) const;
  std::vector<std::string> whole_attribute(const std::string& group, const std::string& name) const;
  ///@}
  /// Rejects sizes that the file cannot hold even at deflate's best ratio, before anything is allocated.
  void check_room(const std::string& name, std::span<const std::uint64_t> sizes, std::size_t element_bytes) const;
  [[noreturn]] void fail_at(const std::string& name, const std::string& problem) const;
  /// Whether the file has an object of this name. Throws InputError for a soft or external link on its path.
  bool exists(const std::string& name) const;
  /// The group; an invalid handle when it is missing.
  Handle open_group(const std::string& name) const;
  Handle open_dataset(const std::string& name) const;
  void check_chunks(const std::string& name, const Handle& dataset, const Handle& properties) const;
  /// The dtype that read_rows converts a data set to.
  DType dtype_of(const Handle& dataset, const std::string& name) const;

  LibraryLock lock_;  // first, so that it is destroyed last
  std::string path_;
  Handle file_;
};

/// Builds an HDF5 file in memory and writes it atomically. Throws BrokenInvariant when HDF5 fails. Not thread-safe;
/// create, use and destroy it on one thread. It holds the HDF5 lock during its lifetime, as Reader does.
class Writer {
 public:
  /// `bytes`: total size of the data sets; an estimate is enough.
  explicit Writer(std::size_t bytes);

  /// Creates a group and missing parent groups.
  void add_group(const std::string& name);
  ///@{
  /// Creates a UTF-8 text attribute of a group: a scalar or an array. Splits a long array into name0, name1, ..., since
  /// an attribute is limited to 64 KiB.
  void add_attribute(const std::string& group, const std::string& name, const std::string& text);
  void add_attribute(const std::string& group, const std::string& name, const std::vector<std::string>& texts);
  ///@}
  /// Creates an f32 data set and missing parent groups. Precondition: `values` has `shape`'s number of elements.
  void add_dataset(const std::string& name, std::span<const float> values, const Shape& shape);
  /// Creates a data set of one 64-bit integer.
  void add_integer(const std::string& name, std::int64_t value);
  /// The contents of the file so far.
  std::vector<std::byte> image() const;
  /// Writes the file. Throws the same errors as write_file_atomically.
  void write_to(const std::string& path);

 private:
  void add_text(const std::string& group, const std::string& name, std::span<const char* const> texts,
                const Handle& space);
  void add_values(const std::string& name, const Shape& shape, std::int64_t file_type, std::int64_t memory_type,
                  const void* values);

  LibraryLock lock_;  // first, so that it is destroyed last
  Handle file_;
};

}  // namespace lockstep::hdf5
