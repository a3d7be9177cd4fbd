#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <zlib.h>

namespace lockstep {

/// Reads the content of a file that is plain or compressed with gzip; looks at its first bytes to tell which.
/// Unlike zlib's own gzread it finds bytes after the compressed content. Throws InputError, which names the file.
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
  std::array<unsigned char, 1 << 16> input_;
  z_stream inflater_{};  ///< next_in and avail_in say what is left of `input_`, for plain files too
  bool compressed_ = false;
  bool ended_ = false;  ///< the compressed content is complete
};

}  // namespace lockstep
