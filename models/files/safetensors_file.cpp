#include "lockstep/models/files/safetensors_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/files/json_text.h>

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian, as memory here is");

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;

/// The format's names of dtypes.
constexpr std::pair<std::string_view, DType> dtypes[] = {{"F32", DType::f32}, {"BF16", DType::bf16},
                                                         {"I32", DType::i32}, {"I64", DType::i64},
                                                         {"U8", DType::u8},   {"BOOL", DType::boolean}};

std::string_view name_in_file(DType dtype) {
  return std::ranges::find(dtypes, dtype, &std::pair<std::string_view, DType>::second)->first;
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype());
}

/// The shape of a tensor of `dtype`; empty if the sizes do not result in `bytes` bytes.
std::optional<Shape> shape_of(std::span<const std::uint64_t> sizes, DType dtype, std::uint64_t bytes) {
  if (sizes.size() > static_cast<std::size_t>(Shape::max_rank)) return {};
  Shape shape;
  std::uint64_t needed = size_of(dtype);
  for (const std::uint64_t size : sizes) {
    if (size > std::numeric_limits<std::int64_t>::max() || __builtin_mul_overflow(needed, size, &needed)) return {};
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return needed == bytes ? std::optional(shape) : std::nullopt;
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
                   first ? "" : ",", Json(name).dump(), name_in_file(value.dtype()), fmt::join(value.shape(), ","),
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
  std::error_code error;
  require<InputError>(std::filesystem::exists(path_, error), "{}: there is no such file", path_);
  in_.open(path_, std::ios::binary);
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
    const std::string text = entry.at("dtype").get<std::string>();
    const auto* const dtype = std::ranges::find(dtypes, text, &std::pair<std::string_view, DType>::first);
    require<InputError>(dtype != std::end(dtypes),
                        "{}: weight {:?} is {}; F32, BF16, I32, I64, U8 and BOOL can be read", path_, name, text);
    const std::vector<std::uint64_t> sizes = whole_numbers(entry.at("shape"), name);
    const std::vector<std::uint64_t> offsets = whole_numbers(entry.at("data_offsets"), name);
    require<InputError>(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_size,
                        "{}: weight {:?} lies outside the file", path_, name);
    const std::uint64_t bytes = offsets[1] - offsets[0];
    const std::optional<Shape> shape = shape_of(sizes, dtype->second, bytes);
    require<InputError>(shape.has_value(), "{}: weight {:?} is of shape ({}), which {} bytes do not hold", path_, name,
                        fmt::join(sizes, ", "), bytes);
    entries_.emplace(name, Entry{.dtype = dtype->second, .shape = *shape, .begin = offsets[0]});
  }
}

Tensor SafetensorsFile::read(const Entry& entry) {
  const LogicalDevice host;
  const Tensor value = Tensor::empty(entry.shape, entry.dtype, host);
  in_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
  in_.read(static_cast<char*>(value.raw_data()), static_cast<std::streamsize>(bytes_of(value)));
  require<InputError>(in_.good(), "{}: cannot be read", path_);
  if (entry.dtype == DType::boolean) {  // a bool in C++ must be 0 or 1
    auto* const bytes = static_cast<unsigned char*>(value.raw_data());
    std::transform(bytes, bytes + value.elements(), bytes, [](unsigned char byte) { return byte != 0 ? 1 : 0; });
  }
  return value;
}

std::vector<Tensor> SafetensorsFile::read_exactly(const std::vector<Expected>& expected) {
  return read_matching(expected, [](const std::string& message, bool) { fail<InputError>("{}", message); });
}

std::vector<Tensor> SafetensorsFile::read_matching(const std::vector<Expected>& expected, const MismatchFn& mismatch) {
  std::map<std::string, Entry> left = entries_;
  std::vector<Tensor> values;
  for (const auto& [name, dtype, shape] : expected) {
    Tensor& value = values.emplace_back();
    const auto found = left.find(name);
    if (found == left.end()) {
      mismatch(fmt::format("{}: has no weight '{}'", path_, name), true);
      continue;
    }
    const Entry entry = found->second;
    left.erase(found);
    if (entry.shape == shape && entry.dtype == dtype)
      value = read(entry);
    else
      mismatch(fmt::format("{}: weight '{}' is {} {}, the file has {} {}", path_, name, lockstep::name(dtype), shape,
                           lockstep::name(entry.dtype), entry.shape),
               false);
  }
  if (!left.empty())
    mismatch(fmt::format("{}: has weights that the model lacks, such as {:?}", path_, left.begin()->first), true);
  return values;
}

}  // namespace lockstep
