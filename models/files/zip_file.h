#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// Zip archives, as much of them as `.keras` files need; the only place that calls libzip.

namespace lockstep {

/// A file in an archive.
struct ZipEntry {
  std::string name;                  ///< with its folder
  std::span<const std::byte> bytes;  ///< its contents
};

/// The archive of these entries in their order, stored as they are, with one date for all: equal entries, equal bytes.
std::vector<std::byte> make_zip(std::span<const ZipEntry> entries);

/// The bytes of an entry of an archive, whose check sum is tested. Throws InputError naming file and entry for a file
/// that is missing, no archive or damaged, for an entry that it lacks, and where any entry's name is absolute or has a
/// ".." in it.
std::vector<std::byte> read_zip_entry(const std::string& path, const std::string& name);

}  // namespace lockstep
