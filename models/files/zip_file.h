#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

// The part of the zip format that `.keras` and `.npz` files need. Only zip_file.cpp calls libzip.

namespace lockstep {

/// A file in an archive.
struct ZipEntry {
  std::string name;                  ///< including its folder
  std::span<const std::byte> bytes;  ///< its contents
};

/// Makes an archive of the entries, in this order, uncompressed and with a fixed date, so equal entries give
/// byte-identical archives.
std::vector<std::byte> make_zip(std::span<const ZipEntry> entries);

/// The names of all entries, in the archive's order. Throws InputError naming the file if it is missing or not an
/// archive, and if the name of any entry is absolute or has a component "..".
std::vector<std::string> zip_entry_names(const std::string& path);

/// The contents of an entry, stored or deflated; verifies its checksum. Throws InputError naming the file if the file
/// is missing or not an archive, if the entry is missing, damaged or compressed in another way, and if the name of any
/// entry is absolute or has a component "..". The message also names the entry.
std::vector<std::byte> read_zip_entry(const std::string& path, const std::string& name);

}  // namespace lockstep
