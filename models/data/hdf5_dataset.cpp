#include "lockstep/models/data/hdf5_dataset.h"

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// Identifies the content of a file, to detect changes.
struct Version {
  std::uintmax_t bytes;
  std::filesystem::file_time_type written;

  friend bool operator==(const Version&, const Version&) = default;
};

/// The version of an existing file. Throws InputError if the file does not exist.
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

/// Reads rows [begin, end). Opens the file for each call, since an open file would block HDF5 calls of all other
/// threads.
Batch read_rows(const Source& source, std::int64_t begin, std::int64_t end) {
  require<InputError>(version_of(source.file) == source.version,
                      "{}: has changed while it was in use; a data set needs its file as it was", source.file);
  const hdf5::Reader reader(source.file);
  for (const std::string* name : {&source.x, &source.y})
    require<InputError>(name->empty() || rows_of(reader, *name) == source.rows, "{}: {:?} no longer has {} rows",
                        source.file, *name, source.rows);
  Batch rows{{reader.read_rows(source.x, begin, end)}};
  if (!source.y.empty()) rows.targets = {reader.read_rows(source.y, begin, end)};
  return rows;
}

}  // namespace

Dataset hdf5_dataset(const std::filesystem::path& file, const std::string& x, const std::string& y) {
  const hdf5::Reader reader(file.string());
  const Source source{file.string(), version_of(file.string()), x, y, rows_of(reader, x)};
  if (!y.empty())
    require<InputError>(rows_of(reader, y) == source.rows, "{}: {:?} has {} rows, {:?} has {}", source.file, x,
                        source.rows, y, rows_of(reader, y));
  // Checks the data types here instead of in the middle of an epoch.
  (void)reader.read_rows(x, 0, 0);
  if (!y.empty()) (void)reader.read_rows(y, 0, 0);
  return Dataset::from_rows([source](std::int64_t begin, std::int64_t end) { return read_rows(source, begin, end); },
                            source.rows);
}

}  // namespace lockstep
