#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

namespace lockstep::fuzz {

/// A file of HDF5 that our own writers made, and the names of all that is in it.
struct Hdf5Base {
  explicit Hdf5Base(std::vector<std::byte> file);

  std::vector<std::byte> image;
  std::vector<std::string> names;
};

/// The file after changes that the input describes, each made by HDF5: objects and attributes go, and others of any
/// shape, type, layout and name take their places. So the file is well-formed, and what is in it is hostile.
std::vector<std::byte> edit(const Hdf5Base& base, FuzzedDataProvider& input);

}  // namespace lockstep::fuzz
