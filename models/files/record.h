#pragma once

#include <cstdint>
#include <ostream>
#include <span>

// The records of TFRecord files: the length as 8 bytes, its checksum, the data and their checksum, little-endian
// (tensorflow/core/lib/io/record_writer.h).

namespace lockstep {

/// The checksum that TFRecords store: CRC-32C, masked because a CRC of data that contain CRCs is weak.
std::uint32_t masked_crc(std::span<const char> bytes);

/// Writes a record. Errors are reported by the stream.
void write_record(std::ostream& file, std::span<const char> data);

}  // namespace lockstep
