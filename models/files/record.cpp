#include "lockstep/models/files/record.h"

#include <array>
#include <bit>

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "TFRecords are little-endian");

/// CRC-32C (Castagnoli, RFC 3720 B.4). Implemented here because no C++ library in Debian has it.
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

}  // namespace lockstep
