#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

struct inflate_state;  // ISA-L's

namespace lockstep {

/// Reads the content of a file that is plain or compressed with gzip; its first bytes say which.
/// Bytes after the compressed content are found, too. Throws InputError, which names the file.
class ByteReader {
 public:
  /// Opens the file. Throws InputError when it cannot be read.
  explicit ByteReader(const std::filesystem::path& file);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Fills `to`, as far as the content goes; the number of bytes.
  std::size_t read(std::byte* to, std::size_t bytes);
  /// No content of a file of this size is longer.
  std::uint64_t most_bytes() const;
  /// Throws unless all has been read and the checksum, if there is one, is right.
  void require_end();

 private:
  bool refill();
  std::size_t read_plain(std::byte* to, std::size_t bytes);
  std::size_t inflate_some(std::byte* to, std::size_t bytes);

  std::filesystem::path file_;
  std::ifstream stream_;
  std::uint64_t file_bytes_ = 0;
  std::array<std::uint8_t, 1 << 16> input_;
  std::span<std::uint8_t> rest_{};           ///< of `input_`
  std::unique_ptr<inflate_state> inflater_;  ///< null for plain files
  bool ended_ = false;                       ///< the compressed content is complete
};

}  // namespace lockstep
