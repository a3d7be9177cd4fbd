#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/files/stored_weight.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A tensor and its name in a file.
struct NamedTensor {
  std::string name;  ///< UTF-8, unique in the file, not "__metadata__"
  Tensor value;      ///< dense, on any device
};

/// The contents of a safetensors file: the length of the header (8 bytes, little-endian), a JSON header with the dtype,
/// shape and byte range of each tensor, and the tensors' bytes. Throws InvalidArgument for a name that is not UTF-8.
std::vector<std::byte> safetensors_contents(const std::vector<NamedTensor>& tensors);

/// Reads a safetensors file. Every member function throws InputError naming the file and the problem.
class SafetensorsFile {
 public:
  /// Opens the file and reads its header.
  explicit SafetensorsFile(std::string path);
  /// A tensor that a file should have.
  struct Expected {
    std::string name;  ///< name in the program
    DType dtype;       ///< dtype of the result; if it is f32 or bf16, the file may have F64, F32, F16 or BF16; values
                       ///< beyond the range of `dtype` become infinity
    Shape shape;       ///< shape of the result, in the model's axis order (after the permutation by stored.axes)
    /// Name and axis order in the file; several expected tensors may be read from the same stored tensor.
    StoredWeight stored;
  };
  /// Reads the expected tensors to the host, in the order of `expected` and with its dtypes. Throws if an expected
  /// tensor is missing or has another dtype or shape, and if the file has an additional tensor.
  std::vector<Tensor> read_exactly(const std::vector<Expected>& expected);
  /// Receives the message of the error that read_exactly would throw. `is_missing` is true if the file lacks the
  /// tensor, and also if the file has additional tensors; it is false for another dtype or shape.
  using MismatchFn = std::function<void(const std::string& message, bool is_missing)>;
  /// Like read_exactly, but calls `mismatch` instead of throwing. Calls it once for each expected tensor that the file
  /// lacks or has with another dtype or shape; this tensor is undefined in the result. Then calls it once for all
  /// additional tensors together, with the name of the first one in the message. With `ignore_extra`, additional
  /// tensors are not reported.
  std::vector<Tensor> read_matching(const std::vector<Expected>& expected, const MismatchFn& mismatch,
                                    bool ignore_extra = false);
  /// All tensors by their names, on the host: F16 and F64 as f32 (values beyond its range become infinity), F32, BF16,
  /// I32, I64, U8 and BOOL in the same dtype. Throws for any other dtype, such as I16 or F8_E4M3.
  std::map<std::string, Tensor> read_all();

 private:
  /// The header's entry of a tensor.
  struct Entry {
    std::string dtype;      ///< dtype string in the header, e.g. "F32"
    Shape shape{};          ///< empty if read_all would throw for the dtype
    std::size_t begin = 0;  ///< offset of the first byte in the data after the header
  };

  std::vector<std::uint64_t> whole_numbers(const nlohmann::json& list, const std::string& name) const;
  void add_entries(const nlohmann::json& header, std::size_t data_size);
  Tensor read(const Entry& entry, DType dtype);
  Tensor read_expected(const Expected& expected, const MismatchFn& mismatch);

  std::string path_;
  std::ifstream in_;
  std::size_t data_begin_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep
