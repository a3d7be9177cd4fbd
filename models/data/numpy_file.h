#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Reads a `.npy` file of any byte order, in C's or Fortran's order, like numpy.load. Floating-point numbers become
/// f32, unsigned bytes u8, booleans bool. Other integers become i32 if i32 holds every value of their type, and i64
/// otherwise. Throws InputError, which names the file, if it is missing, damaged, or shorter or longer than its header
/// says, if it has another type, such as text or Python objects, or more than Shape::max_rank axes, and for an integer
/// that i64 cannot hold.
Tensor read_npy(const std::filesystem::path& file);

/// The arrays of a `.npz` file, stored or compressed, by the names given to numpy.savez. Throws the errors of read_npy,
/// naming the file and the array, and InputError for a file that is not a zip archive.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& file);

}  // namespace lockstep
