#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// Zip archives, as far as `.keras` files need them. Only zip_file.cpp calls libzip.

namespace lockstep {

/// A file in an archive.
struct ZipEntry {
  std::string name;                  ///< including its folder
  std::span<const std::byte> bytes;  ///< its contents
};

/// An archive of the entries, in order, uncompressed and with a fixed date: equal entries give equal bytes.
std::vector<std::byte> make_zip(std::span<const ZipEntry> entries);

/// The contents of an entry of an archive; verifies its checksum. Throws InputError naming file and entry when the file
/// is missing, damaged or not an archive, when it has no such entry, and when any entry's name is absolute or contains
/// "..".
std::vector<std::byte> read_zip_entry(const std::string& path, const std::string& name);

}  // namespace lockstep
