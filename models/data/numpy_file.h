#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Reads a `.npy` file, like numpy.load. Floating-point numbers become f32, unsigned bytes u8, booleans bool, other
/// integers i32 if every value of their type fits, else i64. Arrays of any byte order and in Fortran's order are read.
/// Throws InputError naming the file when it is missing, damaged, shorter or longer than its header says, of another
/// type (such as text and Python objects), of more than Shape::max_rank axes, or has an integer that i64 cannot hold.
Tensor read_npy(const std::filesystem::path& file);

/// The arrays of a `.npz` file, stored or compressed, by the names given to numpy.savez. Throws the errors of read_npy,
/// naming the file and the array, and InputError for a file that is not a zip archive.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& file);

}  // namespace lockstep
