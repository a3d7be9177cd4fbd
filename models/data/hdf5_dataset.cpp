#include "lockstep/models/data/hdf5_dataset.h"

#include <algorithm>
#include <span>

#include <lockstep/models/serialization/hdf5_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// What tells one content of a file from another.
struct Version {
  std::uintmax_t bytes;
  std::filesystem::file_time_type written;

  friend bool operator==(const Version&, const Version&) = default;
};

/// Of a file that is there.
Version version_of(const std::string& file) {
  std::error_code error;
  const Version version{std::filesystem::file_size(file, error), std::filesystem::last_write_time(file, error)};
  require<InputError>(!error, "{}: there is no such file", file);
  return version;
}

struct Source {
  std::string file;
  Version version;
  std::string x;
  std::string y;  ///< may be empty
  std::int64_t rows;
};

std::int64_t rows_of(const hdf5::Reader& reader, const std::string& name) {
  const Shape shape = reader.shape_of(name);
  require<InputError>(shape.rank() >= 1, "{}: {:?} has no axis of examples", reader.path(), name);
  return shape[0];
}

std::int64_t row_bytes(const Tensor& rows) {
  return rows.elements() / rows.dim(0) * static_cast<std::int64_t>(size_of(rows.dtype()));
}

Tensor row_of(const Tensor& rows, std::int64_t row) {
  if (!rows.defined()) return {};
  const Shape& shape = rows.shape();
  return rows.slice_view(0, row, row + 1).view(Shape(std::span(shape.begin() + 1, shape.end())));
}

/// One pass. Opens the file for each block of rows: an open one would keep HDF5 from all other threads.
class Pass {
 public:
  explicit Pass(const Source& source) : source_(source) {}

  std::optional<Example> next() {
    if (position_ == source_.rows) return std::nullopt;
    if (position_ == end_) read_block();
    const std::int64_t row = position_++ - begin_;
    return Example{row_of(block_.x, row), row_of(block_.y, row)};
  }

 private:
  void read_block() {
    constexpr std::int64_t block_bytes = 1 << 22;
    require<InputError>(version_of(source_.file) == source_.version,
                        "{}: has changed while it was in use; a data set needs its file as it was", source_.file);
    const hdf5::Reader reader(source_.file);
    for (const std::string* name : {&source_.x, &source_.y})
      require<InputError>(name->empty() || rows_of(reader, *name) == source_.rows, "{}: {:?} no longer has {} rows",
                          source_.file, *name, source_.rows);
    // The size of a row is known when one has been read.
    const std::int64_t rows =
        block_.x.defined() ? std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(1, row_bytes(block_.x)))
                           : 1;
    begin_ = position_;
    end_ = std::min(source_.rows, begin_ + rows);
    block_.x = reader.read_rows(source_.x, begin_, end_);
    if (!source_.y.empty()) block_.y = reader.read_rows(source_.y, begin_, end_);
  }

  Source source_;
  Example block_{};  ///< rows [begin_, end_)
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t position_ = 0;  ///< of the next row
};

}  // namespace

Dataset hdf5_dataset(const std::filesystem::path& file, const std::string& x, const std::string& y) {
  const hdf5::Reader reader(file.string());
  const Source source{file.string(), version_of(file.string()), x, y, rows_of(reader, x)};
  if (!y.empty())
    require<InputError>(rows_of(reader, y) == source.rows, "{}: {:?} has {} rows, {:?} has {}", source.file, x,
                        source.rows, y, rows_of(reader, y));
  // Types are looked at now, not in the middle of an epoch.
  (void)reader.read_rows(x, 0, 0);
  if (!y.empty()) (void)reader.read_rows(y, 0, 0);
  const auto make = [source](std::uint64_t) -> Generator {
    return [pass = Pass(source)]() mutable { return pass.next(); };
  };
  return Dataset::from_generator(make, source.rows);
}

}  // namespace lockstep
