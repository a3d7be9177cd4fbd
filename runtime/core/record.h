#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <span>
#include <string>

// The records of TFRecord files: the length as 8 bytes, its checksum, the data and their checksum, little-endian
// (tensorflow/core/lib/io/record_writer.h).

namespace lockstep {

/// The checksum that TFRecords store: CRC-32C, masked because a CRC of data that contain CRCs is weak.
std::uint32_t masked_crc(std::span<const char> bytes);

/// Bytes of a record besides its data.
inline constexpr std::uint64_t record_frame_bytes = 16;

/// Writes a record. Errors are reported by the stream.
void write_record(std::ostream& file, std::span<const char> data);

/// Where a record's data lie in its file.
struct RecordPosition {
  std::uint64_t offset;  ///< in bytes
  std::uint64_t length;  ///< in bytes

  /// The offset of the next record.
  std::uint64_t end() const;
};

/// Reads records in any order. For one thread at a time. The messages of `find` and `read` do not name the file.
class RecordFile {
 public:
  /// Throws InputError that names the file if it is missing, not a regular file or cannot be opened.
  explicit RecordFile(const std::filesystem::path& path);
  /// Reads records from `content`, a file's content in memory, which must outlive this.
  explicit RecordFile(std::span<const char> content) : content_(content), size_(content.size()) {}

  /// Bytes in the file when it was opened.
  std::uint64_t size() const { return size_; }
  /// The record that begins at `offset` < size(). Throws InputError if the file ends within the record or the checksum
  /// of the record's length is wrong.
  RecordPosition find(std::uint64_t offset);
  /// The record's data. Throws InputError if the checksum of the data is wrong or the file has become shorter.
  std::string read(const RecordPosition& at);

 private:
  bool read_at(std::uint64_t offset, std::span<char> bytes);

  std::ifstream file_;
  std::span<const char> content_;  ///< of a file in memory; else empty
  std::uint64_t size_;
};

}  // namespace lockstep
