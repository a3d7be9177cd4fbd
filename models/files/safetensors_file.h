#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor and its name in a file.
struct NamedTensor {
  std::string name;  ///< any text
  Tensor value;      ///< dense, on any device
};

/// The contents of a safetensors file: the length of the header (8 bytes, little-endian), a JSON header with the dtype,
/// shape and byte range of each tensor, and the tensors' bytes.
std::vector<std::byte> safetensors_contents(const std::vector<NamedTensor>& tensors);

/// Reads a safetensors file. All functions throw InputError naming the file and the problem.
class SafetensorsFile {
 public:
  /// Opens the file and reads its header. Throws for dtypes other than F32, BF16, I32, I64, U8 and BOOL.
  explicit SafetensorsFile(std::string path);
  /// A tensor that a file should have.
  struct Expected {
    std::string name;  ///< name in the file
    DType dtype;       ///< dtype of the elements
    Shape shape;       ///< size of each axis
  };
  /// The values of the expected tensors, in this order, on the host. Throws for a file that lacks one of them, has an
  /// additional tensor, or has one of them with another dtype or shape.
  std::vector<Tensor> read_exactly(const std::vector<Expected>& expected);
  /// Called with the message of read_exactly's error. `is_missing`: the file lacks a tensor or has an additional one;
  /// false for another dtype or shape.
  using MismatchFn = std::function<void(const std::string& message, bool is_missing)>;
  /// Like read_exactly, but calls `mismatch` for each of these errors instead of throwing. Tensors that the file lacks
  /// or has with another dtype or shape are undefined in the result.
  std::vector<Tensor> read_matching(const std::vector<Expected>& expected, const MismatchFn& mismatch);

 private:
  /// The header's entry of a tensor.
  struct Entry {
    DType dtype = DType::f32;  ///< dtype of the elements
    Shape shape{};             ///< size of each axis
    std::size_t begin = 0;     ///< first byte, in the data after the header
  };

  std::vector<std::uint64_t> whole_numbers(const nlohmann::json& list, const std::string& name) const;
  void add_entries(const nlohmann::json& header, std::size_t data_size);
  Tensor read(const Entry& entry);

  std::string path_;
  std::ifstream in_;
  std::size_t data_begin_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep
