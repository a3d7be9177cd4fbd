#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/files/json_text.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/file_formats.h>

// The safetensors format: the length of the header (8 bytes, little-endian), a JSON header with the type, shape and
// byte range of each tensor, and the tensors' bytes. Weights are named "layer/variable".

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian, as memory here is");

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;

/// The header's entry of a tensor.
struct Entry {
  Shape shape;
  std::size_t begin = 0;  ///< first byte, in the data after the header
};

/// The shape of an f32 tensor; nothing if the sizes do not give `bytes` bytes.
std::optional<Shape> shape_of_floats(std::span<const std::uint64_t> sizes, std::uint64_t bytes) {
  if (sizes.size() > static_cast<std::size_t>(Shape::max_rank)) return {};
  Shape shape;
  std::uint64_t needed = sizeof(float);
  for (const std::uint64_t size : sizes) {
    if (size > std::numeric_limits<std::int64_t>::max() || __builtin_mul_overflow(needed, size, &needed)) return {};
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return needed == bytes ? std::optional(shape) : std::nullopt;
}

class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {
    std::error_code error;
    require<InputError>(std::filesystem::exists(path_, error), "{}: there is no such file", path_);
    in_.open(path_, std::ios::binary);
    const auto size = static_cast<std::size_t>(std::filesystem::file_size(path_, error));
    require<InputError>(in_.good() && !error, "{}: cannot be opened", path_);
    std::uint64_t length = 0;
    in_.read(reinterpret_cast<char*>(&length), length_bytes);
    require<InputError>(in_.good() && length <= size - length_bytes, "{}: this is no safetensors file, or is cut short",
                        path_);
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

  const std::map<std::string, Entry>& entries() const { return entries_; }

  Tensor read(const Entry& entry) {
    const Tensor value = Tensor::empty(entry.shape);
    const std::span<float> values = value.span<float>();
    in_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
    in_.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    require<InputError>(in_.good(), "{}: cannot be read", path_);
    return value;
  }

 private:
  std::vector<std::uint64_t> whole_numbers(const Json& list, const std::string& name) const {
    require<InputError>(
        list.is_array() && std::ranges::all_of(list, [](const Json& x) { return x.is_number_unsigned(); }),
        "{}: weight {:?} has {} where whole numbers belong", path_, name, list.dump());
    return list.get<std::vector<std::uint64_t>>();
  }

  void add_entries(const Json& header, std::size_t data_size) {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const std::string dtype = entry.at("dtype").get<std::string>();
      require<InputError>(dtype == "F32", "{}: weight {:?} is {}, F32 is known", path_, name, dtype);
      const std::vector<std::uint64_t> sizes = whole_numbers(entry.at("shape"), name);
      const std::vector<std::uint64_t> offsets = whole_numbers(entry.at("data_offsets"), name);
      require<InputError>(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_size,
                          "{}: weight {:?} lies outside the file", path_, name);
      const std::uint64_t bytes = offsets[1] - offsets[0];
      const std::optional<Shape> shape = shape_of_floats(sizes, bytes);
      require<InputError>(shape.has_value(), "{}: weight {:?} is of shape ({}), which {} bytes do not hold", path_,
                          name, fmt::join(sizes, ", "), bytes);
      entries_.emplace(name, Entry{.shape = *shape, .begin = offsets[0]});
    }
  }

  std::string path_;
  std::ifstream in_;
  std::size_t data_begin_ = 0;
  std::map<std::string, Entry> entries_;
};

std::vector<std::byte> contents_of(const Network& network) {
  std::string text = "{";
  std::size_t end = 0;
  const std::vector<Variable> variables = network.variables();
  const std::vector<std::string> names = network.weight_names();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Shape& shape = variables[i].shape();
    const std::size_t begin = end;
    end += static_cast<std::size_t>(shape.elements()) * sizeof(float);
    fmt::format_to(std::back_inserter(text), R"({}{}:{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                   i == 0 ? "" : ",", Json(names[i]).dump(), fmt::join(shape, ","), begin, end);
  }
  text += "}";
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');  // aligns the data
  const std::uint64_t length = text.size();
  std::vector<std::byte> bytes(length_bytes + text.size() + end);
  std::memcpy(bytes.data(), &length, length_bytes);
  std::memcpy(bytes.data() + length_bytes, text.data(), text.size());
  std::byte* out = bytes.data() + length_bytes + text.size();
  for (const Variable& variable : variables) {
    const std::vector<float> values = variable.value().to_vector<float>();
    std::memcpy(out, values.data(), values.size() * sizeof(float));
    out += values.size() * sizeof(float);
  }
  return bytes;
}

/// Implements load_weights. The file must have exactly the network's weights.
void load(const Network& network, const std::string& path) {
  File file(path);
  std::map<std::string, Entry> left = file.entries();
  std::vector<std::pair<Variable, Tensor>> values;
  const std::vector<Variable> variables = network.variables();
  const std::vector<std::string> names = network.weight_names();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto found = left.find(names[i]);
    require<InputError>(found != left.end(), "{}: has no weight '{}'", path, names[i]);
    require<InputError>(found->second.shape == variables[i].shape(), "{}: weight '{}' has shape {}, the file has {}",
                        path, names[i], variables[i].shape(), found->second.shape);
    values.emplace_back(variables[i], file.read(found->second));
    left.erase(found);
  }
  require<InputError>(left.empty(), "{}: has weights that the model lacks, such as {:?}", path,
                      left.empty() ? "" : left.begin()->first);
  for (const auto& [variable, value] : values) variable.assign(value);
}

}  // namespace

constexpr WeightsFormat safetensors_format{.extension = ".safetensors", .contents = contents_of, .load = load};

}  // namespace lockstep
