#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include <lockstep/runtime/tensor/tensor.h>

struct inflate_state;  // declared by ISA-L

namespace lockstep {

/// Reads a file, and decompresses it if it begins with gzip's magic number. The contents of a gzip file's members are
/// concatenated. The functions throw InputError naming the file when it cannot be read or its compressed data are
/// damaged or cut short.
class ByteReader {
 public:
  /// Opens the file. Throws InputError when it is missing, not a regular file or cannot be opened.
  explicit ByteReader(const std::filesystem::path& file);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Whether the file is gzip-compressed.
  bool is_compressed() const { return inflater_ != nullptr; }
  /// Reads the next `bytes` bytes, or fewer at the end of the content; returns their number.
  std::size_t read(std::byte* to, std::size_t bytes);
  /// Returns the whole content, u8; call it instead of `read`. If the file is not compressed, several threads read it,
  /// up to the size that it had when it was opened. For a compressed file, also throws the errors of require_end.
  Tensor read_all();
  /// Upper bound of the content's length, from the file's size and deflate's best ratio.
  std::uint64_t most_bytes() const;
  /// Throws InputError unless all content has been read, its gzip checksum is right and nothing follows it in the file.
  void require_end();

 private:
  bool refill();
  std::size_t read_plain(std::byte* to, std::size_t bytes);
  std::size_t inflate_some(std::byte* to, std::size_t bytes);
  /// Begins to decompress the next member of a gzip file; false if there is none.
  bool begin_member();
  Tensor read_all_plain() const;

  std::filesystem::path file_;
  std::ifstream stream_;
  std::uint64_t file_bytes_ = 0;
  std::array<std::uint8_t, 1 << 16> input_;
  std::span<std::uint8_t> rest_{};           ///< the part of `input_` not yet read
  std::unique_ptr<inflate_state> inflater_;  ///< null for plain files
  bool ended_ = false;                       ///< the compressed content is complete
};

}  // namespace lockstep
