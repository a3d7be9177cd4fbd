#include "lockstep/runtime/core/record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "TFRecords are little-endian");

/// CRC-32C (Castagnoli, RFC 3720 B.4); no C++ library in Debian offers it.
std::uint32_t crc32c(std::span<const char> bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      entries[i] = i;
      for (int bit = 0; bit < 8; ++bit) entries[i] = (entries[i] >> 1) ^ (entries[i] & 1 ? 0x82F63B78U : 0U);
    }
    return entries;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::size_t crc_bytes = sizeof(std::uint32_t);

/// Whether the checksum `stored` is that of `bytes`.
bool has_crc(std::span<const char> bytes, const char* stored) {
  std::uint32_t crc = 0;
  std::memcpy(&crc, stored, crc_bytes);
  return crc == masked_crc(bytes);
}

}  // namespace

std::uint32_t masked_crc(std::span<const char> bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8U; }

void write_record(std::ostream& file, std::span<const char> data) {
  const auto write = [&](std::span<const char> bytes) {
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
  const auto bytes_of = [](auto number) { return std::bit_cast<std::array<char, sizeof(number)>>(number); };
  const auto length = bytes_of(static_cast<std::uint64_t>(data.size()));
  write(length);
  write(bytes_of(masked_crc(length)));
  write(data);
  write(bytes_of(masked_crc(data)));
}

std::uint64_t RecordPosition::end() const { return offset + length + crc_bytes; }

RecordFile::RecordFile(const std::filesystem::path& path) {
  require_regular_file(path);
  file_.open(path, std::ios::binary);
  require<InputError>(file_.is_open(), "{}: cannot be opened", path.string());
  size_ = std::filesystem::file_size(path);
}

/// Returns false if the file ends before.
bool RecordFile::read_at(std::uint64_t offset, std::span<char> bytes) {
  if (!file_.is_open()) {
    if (offset > size_ || bytes.size() > size_ - offset) return false;
    std::ranges::copy(content_.subspan(offset, bytes.size()), bytes.begin());
    return true;
  }
  file_.clear();
  // Seeking discards the bytes that have been read ahead.
  if (file_.tellg() != static_cast<std::streamoff>(offset)) file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file_.good();
}

RecordPosition RecordFile::find(std::uint64_t offset) {
  std::array<char, length_bytes + crc_bytes> head{};
  require<InputError>(read_at(offset, head), "the file ends within it");
  require<InputError>(has_crc(std::span(head).first(length_bytes), &head[length_bytes]),
                      "its length has a wrong checksum");
  RecordPosition found{.offset = offset + head.size(), .length = 0};
  std::memcpy(&found.length, head.data(), length_bytes);
  const std::uint64_t left = size_ - std::min(size_, found.offset);
  require<InputError>(crc_bytes <= left && found.length <= left - crc_bytes, "the file ends within it");
  return found;
}

std::string RecordFile::read(const RecordPosition& at) {
  std::string data(at.length + crc_bytes, '\0');
  require<InputError>(read_at(at.offset, data), "the file is shorter than when it was opened");
  require<InputError>(has_crc(std::span(data).first(at.length), &data[at.length]), "its data have a wrong checksum");
  data.resize(at.length);
  return data;
}

}  // namespace lockstep
