#pragma once

#include <filesystem>
#include <string>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// A data set whose example i is row i of the HDF5 data sets `x` and `y` of a file. If `y` is empty, there are no
/// targets. Floating-point numbers become f32, unsigned bytes u8. Other integers become i32 if i32 holds every value of
/// their type, and i64 otherwise; HDF5 clips unsigned 64-bit integers above 2^63 - 1. Rows are read when they are
/// needed (Dataset::from_rows), so a file may be larger than memory. shuffle() keeps its buffer in memory; with the
/// default buffer that is every row. Throws InputError, which names the file, if the file is missing or not an HDF5
/// file, if an HDF5 data set is missing or a scalar, if its values are neither integers nor floating-point numbers of
/// 16, 32 or 64 bits, and if `x` and `y` have different numbers of rows. Reading the data set throws InputError if the
/// file has changed or is damaged.
Dataset hdf5_dataset(const std::filesystem::path& file, const std::string& x, const std::string& y = "");

}  // namespace lockstep
