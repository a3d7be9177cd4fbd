#pragma once

#include <filesystem>
#include <string>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Example i is row i of two data sets of an HDF5 file, without `y` of one: floating-point numbers as f32; integers as
/// u8 when they are that, as i32 when they fit, else as i64. Rows are read as Dataset::from_rows asks for them, so
/// files may be larger than memory; a shuffle of it holds its buffer, a whole one all rows. Throws InputError, which
/// names the file, when it is missing or no HDF5 file, a data set is missing, has no axis of examples or another type,
/// and for unequal numbers of rows; also when read, for a file that changed or is damaged.
Dataset hdf5_dataset(const std::filesystem::path& file, const std::string& x, const std::string& y = "");

}  // namespace lockstep
