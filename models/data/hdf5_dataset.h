#pragma once

#include <filesystem>
#include <string>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// A data set whose example i is row i of the HDF5 data sets `x` and `y` of a file; without targets if `y` is empty.
/// Floating-point numbers become f32, unsigned bytes u8, other integers i32 if every value of their type fits, else
/// i64; HDF5 clips unsigned 64-bit integers above 2^63 - 1. Rows are read when they are needed (Dataset::from_rows), so
/// a file may be larger than memory. shuffle() keeps its buffer in memory; with the default buffer that is every row.
/// Throws InputError naming the file when it is missing or not an HDF5 file, when a data set is missing, has no axis of
/// examples or holds neither integers nor floating-point numbers of 16, 32 or 64 bits, and when the numbers of rows
/// differ. Reading the data set throws InputError when the file has changed or is damaged.
Dataset hdf5_dataset(const std::filesystem::path& file, const std::string& x, const std::string& y = "");

}  // namespace lockstep
