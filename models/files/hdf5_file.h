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

// As much of HDF5's C API as files of weights need, with owned handles and exceptions.

/// HDF5 files, for the formats that are made of them.
namespace lockstep::hdf5 {

/// The calling thread's turn at the library, which many builds of HDF5 ask for. Meanwhile HDF5 prints no errors itself.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  void* report_data_ = nullptr;
  int (*report_)(std::int64_t, void*) = nullptr;  ///< what printed errors before
};

/// Owns an HDF5 identifier.
class Handle {
 public:
  /// What gives an identifier of this kind back, e.g. H5Gclose.
  using Close = int (*)(std::int64_t);
  Handle() = default;
  /// `id` is invalid below 0, and then not closed.
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  ///@{
  /// What has been moved from is invalid.
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
  /// For calls of the library. Precondition: valid.
  std::int64_t id() const { return id_; }

 private:
  void reset() {
    if (valid()) close_(std::exchange(id_, -1));
  }

  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// Whether there is a file of this format; false for one that cannot be read, and for a zip archive: HDF5 also finds
/// what begins at byte 512, 1024, 2048, ..., such as a file that lies there in an archive.
bool is_hdf5(const std::string& path);

/// A file for reading. Only what is stored in the file itself is read: links that lead elsewhere are refused.
/// Every function throws InputError naming the file, what in it, and the reason. For one thread.
class Reader {
 public:
  /// Throws InputError for a file that does not exist, is no HDF5 file, or is cut short.
  explicit Reader(std::string path);
  /// The same for a file that is in memory, under a name for messages.
  Reader(std::string name, std::span<const std::byte> image);

  /// As given.
  const std::string& path() const { return path_; }
  /// Whether there is a group of this name, such as "layers/dense/vars".
  bool has_group(const std::string& name) const;
  /// Names in a group, sorted; none when there is no such group.
  std::vector<std::string> names_in(const std::string& group) const;
  /// The sizes of a data set.
  Shape shape_of(const std::string& dataset) const;
  /// The elements of a data set of 16, 32 or 64 bit floating-point numbers, as f32 in row-major order.
  /// Precondition: `values` has as many elements as `shape_of(dataset)`.
  void read(const std::string& dataset, std::span<float> values) const;
  /// The one integer that a data set holds.
  std::int64_t read_integer(const std::string& dataset) const;
  /// Rows [begin, end) of a data set with at least one axis: floating-point numbers as f32; integers as u8 when they
  /// are that, as i32 when they fit, else as i64. Precondition: 0 <= begin <= end <= number of rows.
  Tensor read_rows(const std::string& dataset, std::int64_t begin, std::int64_t end) const;
  /// Whether a group, or the file as "/", has it.
  bool has_attribute(const std::string& group, const std::string& name) const;
  /// The elements of an attribute of text: one, or an array of one axis, however it is stored, also as Keras splits
  /// long ones: into name0, name1, ...
  std::vector<std::string> attribute(const std::string& group, const std::string& name) const;

 private:
  ///@{
  /// Of the attribute of just this name.
  bool has_whole_attribute(const std::string& group, const std::string& name) const;
  std::vector<std::string> whole_attribute(const std::string& group, const std::string& name) const;
  ///@}
  /// Throws unless a file of this size can hold that many bytes, compressed or not.
  void check_room(const std::string& name, std::span<const std::uint64_t> sizes, std::size_t element_bytes) const;
  [[noreturn]] void fail_at(const std::string& name, const std::string& problem) const;
  /// Whether something has this name. Throws InputError when the way there leaves the file.
  bool exists(const std::string& name) const;
  /// Invalid when there is no such group.
  Handle open_group(const std::string& name) const;
  Handle open_dataset(const std::string& name) const;
  void check_chunks(const std::string& name, const Handle& dataset, const Handle& properties) const;
  /// What the elements of an open data set become.
  DType dtype_of(const Handle& dataset, const std::string& name) const;

  Turn turn_;  // first, so that it ends last
  std::string path_;
  Handle file_;
};

/// A file that is put together in memory and then written at once, whole or not at all. For one thread.
class Writer {
 public:
  /// `bytes` that the data sets will have in all, or a guess.
  explicit Writer(std::size_t bytes);

  /// Makes a group and those around it.
  void add_group(const std::string& name);
  ///@{
  /// Makes an UTF-8 text attribute of a group, of one element or of an array; of a long one several, name0, name1, ...,
  /// since none can have more than 64 KiB.
  void add_attribute(const std::string& group, const std::string& name, const std::string& text);
  void add_attribute(const std::string& group, const std::string& name, const std::vector<std::string>& texts);
  ///@}
  /// Makes a data set of f32 and the groups around it. Precondition: `values` has `shape`'s number of elements.
  void add_dataset(const std::string& name, std::span<const float> values, const Shape& shape);
  /// A data set of one integer of 64 bits.
  void add_integer(const std::string& name, std::int64_t value);
  /// The file as it is now.
  std::vector<std::byte> image() const;
  /// Throws InputError as write_file_atomically does.
  void write_to(const std::string& path);

 private:
  void add_text(const std::string& group, const std::string& name, std::span<const char* const> texts,
                const Handle& space);
  void add_values(const std::string& name, const Shape& shape, std::int64_t file_type, std::int64_t memory_type,
                  const void* values);

  Turn turn_;  // first, so that it ends last
  Handle file_;
};

}  // namespace lockstep::hdf5
