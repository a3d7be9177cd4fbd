#include "lockstep/models/files/safetensors_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/array.h>
#include <lockstep/models/files/half.h>
#include <lockstep/models/files/json_text.h>
#include <lockstep/models/files/shape_limit.h>
#include <lockstep/runtime/core/regular_file.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian, as memory here is");

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;

/// A dtype of the format that can be read.
struct FileDType {
  std::string_view name;  ///< the format's
  std::size_t size;       ///< bytes of an element
  DType dtype;            ///< dtype of a tensor that has its values
};
constexpr FileDType file_dtypes[] = {{"F32", 4, DType::f32}, {"BF16", 2, DType::bf16}, {"I32", 4, DType::i32},
                                     {"I64", 8, DType::i64}, {"U8", 1, DType::u8},     {"BOOL", 1, DType::boolean},
                                     {"F16", 2, DType::f32}, {"F64", 8, DType::f32}};

std::string_view name_in_file(DType dtype) { return std::ranges::find(file_dtypes, dtype, &FileDType::dtype)->name; }

/// Null if tensors of this dtype cannot be read.
const FileDType* file_dtype(std::string_view name) {
  const auto* const found = std::ranges::find(file_dtypes, name, &FileDType::name);
  return found == std::end(file_dtypes) ? nullptr : found;
}

std::string readable_dtypes() {
  return fmt::format("{} can be read", fmt::join(file_dtypes | std::views::transform(&FileDType::name), ", "));
}

/// Writes the elements of type Stored in `bytes`, converted by `value`, to `to`.
template <class Stored, class To, class Value>
void convert_to(const std::vector<char>& bytes, const Tensor& to, Value value) {
  To* const out = to.data<To>();
  for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = To(value(stored));
  }
}

/// Writes real numbers of a file to `to`, which is f32 or bf16.
void convert(std::string_view dtype, const std::vector<char>& bytes, const Tensor& to) {
  const auto with = [&]<class Stored>(Stored /*of*/, auto value) {
    to.dtype() == DType::f32 ? convert_to<Stored, float>(bytes, to, value)
                             : convert_to<Stored, bfloat16>(bytes, to, value);
  };
  const auto narrowed = [](double stored) {  // to infinity beyond f32's range; NaN stays NaN
    constexpr double most = std::numeric_limits<float>::max();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return stored > most ? infinity : stored < -most ? -infinity : static_cast<float>(stored);
  };
  if (dtype == "F16") return with(std::uint16_t(), from_half);
  if (dtype == "F64") return with(double(), narrowed);
  if (dtype == "BF16") return with(bfloat16(), [](bfloat16 stored) { return static_cast<float>(stored); });
  with(float(), narrowed);
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype());
}

/// The shape of a tensor with elements of `size` bytes; empty if the sizes do not result in `bytes` bytes, or if no
/// tensor can have them, also without elements.
std::optional<Shape> shape_of(std::span<const std::uint64_t> sizes, std::size_t size, std::uint64_t bytes) {
  if (sizes.size() > static_cast<std::size_t>(Shape::max_rank)) return {};
  Shape shape;
  for (const std::uint64_t length : sizes) {
    if (length > std::numeric_limits<std::int64_t>::max()) return {};
    shape.push_back(static_cast<std::int64_t>(length));
  }
  const bool fits = is_possible(shape) && static_cast<std::uint64_t>(shape.elements()) * size == bytes;
  return fits ? std::optional(shape) : std::nullopt;
}

/// The shape with its axes in this order; empty if they are not a permutation of the shape's.
std::optional<Shape> permuted(const Shape& shape, const std::vector<int>& axes) {
  if (axes.empty()) return shape;
  std::vector<int> all(static_cast<std::size_t>(shape.rank()));
  std::iota(all.begin(), all.end(), 0);
  if (!std::ranges::is_permutation(axes, all)) return {};
  Shape result;
  for (const int axis : axes) result.push_back(shape[axis]);
  return result;
}

}  // namespace

std::vector<std::byte> safetensors_contents(const std::vector<NamedTensor>& tensors) {
  std::string text = "{";
  std::size_t end = 0;
  for (const auto& [name, value] : tensors) {
    const bool first = text.size() == 1;
    const std::size_t begin = end;
    end += bytes_of(value);
    fmt::format_to(std::back_inserter(text), R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                   first ? "" : ",", json_text(Json(name)), name_in_file(value.dtype()), fmt::join(value.shape(), ","),
                   begin, end);
  }
  text += "}";
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');  // aligns the data
  const std::uint64_t length = text.size();
  std::vector<std::byte> bytes(length_bytes + text.size() + end);
  std::memcpy(bytes.data(), &length, length_bytes);
  std::memcpy(bytes.data() + length_bytes, text.data(), text.size());
  std::byte* out = bytes.data() + length_bytes + text.size();
  for (const auto& [name, value] : tensors) {
    const Tensor host = value.on_host();
    std::memcpy(out, host.raw_data(), bytes_of(host));
    out += bytes_of(host);
  }
  return bytes;
}

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  require_regular_file(path_);
  in_.open(path_, std::ios::binary);
  std::error_code error;
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path_, error));
  require<InputError>(in_.good() && !error, "{}: cannot be opened", path_);
  std::uint64_t length = 0;
  in_.read(reinterpret_cast<char*>(&length), length_bytes);
  require<InputError>(in_.good() && length <= size - length_bytes,
                      "{}: not a safetensors file, or the file is truncated", path_);
  std::string header(length, '\0');
  in_.read(header.data(), static_cast<std::streamsize>(length));
  data_begin_ = length_bytes + length;
  const Json entries = parse_sorted_json(header, fmt::format("{}: the header", path_));
  try {
    add_entries(entries, size - data_begin_);
  } catch (const Json::exception& error) {
    fail<InputError>("{}: the header is not in safetensors' form: {}", path_, error.what());
  }
}

std::vector<std::uint64_t> SafetensorsFile::whole_numbers(const Json& list, const std::string& name) const {
  require<InputError>(
      list.is_array() && std::ranges::all_of(list, [](const Json& x) { return x.is_number_unsigned(); }),
      "{}: weight {:?} has {} where whole numbers belong", path_, name, list.dump());
  return list.get<std::vector<std::uint64_t>>();
}

void SafetensorsFile::add_entries(const Json& header, std::size_t data_size) {
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::string dtype = entry.at("dtype").get<std::string>();
    const std::vector<std::uint64_t> sizes = whole_numbers(entry.at("shape"), name);
    const std::vector<std::uint64_t> offsets = whole_numbers(entry.at("data_offsets"), name);
    require<InputError>(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_size,
                        "{}: weight {:?} lies outside the file", path_, name);
    Entry& added = entries_.emplace(name, Entry{.dtype = dtype, .begin = offsets[0]}).first->second;
    const FileDType* const readable = file_dtype(dtype);
    if (readable == nullptr) continue;
    const std::uint64_t bytes = offsets[1] - offsets[0];
    const std::optional<Shape> shape = shape_of(sizes, readable->size, bytes);
    require<InputError>(shape.has_value(), "{}: weight {:?} is of shape ({}), which {} bytes do not hold", path_, name,
                        fmt::join(sizes, ", "), bytes);
    added.shape = *shape;
  }
}

/// The tensor in `dtype`. Precondition: its values can have this dtype.
Tensor SafetensorsFile::read(const Entry& entry, DType dtype) {
  const FileDType& stored = *file_dtype(entry.dtype);
  const Tensor value = Tensor::empty(entry.shape, dtype, LogicalDevice());
  in_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
  if (name_in_file(dtype) != stored.name) {
    std::vector<char> bytes(static_cast<std::size_t>(value.elements()) * stored.size);
    in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    convert(stored.name, bytes, value);
  } else {
    in_.read(static_cast<char*>(value.raw_data()), static_cast<std::streamsize>(bytes_of(value)));
  }
  require<InputError>(in_.good(), "{}: cannot be read", path_);
  if (dtype == DType::boolean) {  // a bool in C++ must be 0 or 1
    auto* const bytes = static_cast<unsigned char*>(value.raw_data());
    std::transform(bytes, bytes + value.elements(), bytes, [](unsigned char byte) { return byte != 0 ? 1 : 0; });
  }
  return value;
}

std::map<std::string, Tensor> SafetensorsFile::read_all() {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, entry] : entries_) {
    const FileDType* const stored = file_dtype(entry.dtype);
    require<InputError>(stored != nullptr, "{}: weight {:?} is {}; {}", path_, name, entry.dtype, readable_dtypes());
    tensors.emplace(name, read(entry, stored->dtype));
  }
  return tensors;
}

std::vector<Tensor> SafetensorsFile::read_exactly(const std::vector<Expected>& expected) {
  return read_matching(expected, [](const std::string& message, bool) { fail<InputError>("{}", message); });
}

std::vector<Tensor> SafetensorsFile::read_matching(const std::vector<Expected>& expected, const MismatchFn& mismatch,
                                                   bool ignore_extra) {
  std::set<std::string> extra;
  for (const auto& [name, entry] : entries_) extra.insert(name);
  std::vector<Tensor> values;
  for (const Expected& tensor : expected) {
    values.push_back(read_expected(tensor, mismatch));
    extra.erase(tensor.stored.name);
  }
  if (!extra.empty() && !ignore_extra)
    mismatch(fmt::format("{}: has weights that the model lacks, such as {:?}", path_, *extra.begin()), true);
  return values;
}

Tensor SafetensorsFile::read_expected(const Expected& expected, const MismatchFn& mismatch) {
  const StoredWeight& stored = expected.stored;
  const std::string place = stored.name == expected.name ? "" : fmt::format(" as {:?}", stored.name);
  const auto found = entries_.find(stored.name);
  if (found == entries_.end()) {
    mismatch(fmt::format("{}: has no weight '{}'{}", path_, expected.name, place), true);
    return {};
  }
  const Entry& entry = found->second;
  const FileDType* const dtype = file_dtype(entry.dtype);
  if (dtype == nullptr) {
    mismatch(fmt::format("{}: weight {:?} is {}; {}", path_, stored.name, entry.dtype, readable_dtypes()), false);
    return {};
  }
  const bool has_values = dtype->dtype == expected.dtype || (is_real(dtype->dtype) && is_real(expected.dtype));
  if (!has_values || permuted(entry.shape, stored.axes) != expected.shape) {
    const std::string order =
        stored.axes.empty() ? "" : fmt::format(", to be read in the order ({})", fmt::join(stored.axes, ", "));
    mismatch(fmt::format("{}: weight '{}' is {} {}, the file has{} {} {}{}", path_, expected.name,
                         name_in_file(expected.dtype), expected.shape, place, entry.dtype, entry.shape, order),
             false);
    return {};
  }
  const Tensor value = read(entry, expected.dtype);
  if (stored.axes.empty()) return value;
  const ContextScope on_host(context_on(LogicalDevice()));
  return dense_copy(transpose(value, stored.axes));
}

}  // namespace lockstep
