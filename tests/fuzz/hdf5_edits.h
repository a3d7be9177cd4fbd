#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

namespace lockstep::fuzz {

/// An HDF5 file written by the library, and the names of all objects and attributes in it.
struct Hdf5Base {
  explicit Hdf5Base(std::vector<std::byte> file);

  std::vector<std::byte> image;
  std::vector<std::string> names;
};

/// The file after changes that the input describes: objects and attributes are removed, or replaced by others of any
/// shape, type, layout and name. HDF5 makes the changes, so that the file is well-formed HDF5 with hostile content.
std::vector<std::byte> edit(const Hdf5Base& base, FuzzedDataProvider& input);

}  // namespace lockstep::fuzz
