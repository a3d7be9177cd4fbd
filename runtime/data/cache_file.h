#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/record.h>
#include <lockstep/runtime/data/example.h>

// The file of Dataset::cache, which has the framing of a TFRecord file. Its records, in this order: the version of the
// format as text, one record for each element, the index (the offsets of the elements' records), and the offset of the
// index's record.

namespace lockstep::detail {

/// The example's tensors as bytes.
std::string encode_example(const Example& example);
/// The inverse of encode_example. Throws InputError, whose message does not name a file, for bytes that encode_example
/// cannot have returned.
Example decode_example(std::span<const char> bytes);

/// Writes a cache file. The file appears at its path only when `commit` is called. The functions throw InputError
/// naming the file.
class CacheFileWriter {
 public:
  explicit CacheFileWriter(const std::filesystem::path& path);
  /// Adds the next element.
  void add(const Example& element);
  /// Completes the file. Precondition: not completed.
  void commit();

 private:
  void write(std::span<const char> record);
  void flush();
  /// Offset of the next record.
  std::uint64_t offset() { return flushed_ + static_cast<std::uint64_t>(buffer_.tellp()); }

  AtomicFile file_;
  std::ostringstream buffer_;
  std::uint64_t flushed_ = 0;  ///< bytes given to file_
  std::vector<std::uint64_t> offsets_;
};

/// Reads elements of a cache file in any order. For one thread at a time. The functions throw InputError naming the
/// file.
class CacheFileReader {
 public:
  explicit CacheFileReader(const std::filesystem::path& path);
  /// Number of elements.
  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()); }
  /// Element `number`. Precondition: 0 <= number < size().
  Example read(std::int64_t number);

 private:
  std::filesystem::path path_;
  RecordFile file_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace lockstep::detail
