#include "lockstep/models/data/numpy_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/models/files/half.h>
#include <lockstep/models/files/shape_limit.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

/// Reads the header of an array, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class NpyHeader {
 public:
  explicit NpyHeader(std::string_view text) : text_(text) {
    expect("{");
    while (!accept("}")) {
      const std::string_view key = quoted();
      expect(":");
      if (key == "descr")
        read_type();
      else if (key == "fortran_order")
        fortran_order = accept("True") || (expect("False"), false);
      else if (key == "shape")
        read_shape();
      else
        fail<InputError>("its header has an unknown entry {:?}", key);
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    require<InputError>(!type.empty(), "its header has no 'descr'");
    require<InputError>(has_shape_, "its header has no 'shape'");
  }

  std::string_view type{};  ///< type of the elements without the byte order, e.g. f4
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape{};

 private:
  void read_type() {
    require<InputError>(!accept("["), "it has records of several fields; arrays of numbers are read");
    type = quoted();
    if (!type.empty() && std::string_view("<>|=").find(type.front()) != std::string_view::npos) {
      big_endian = type.front() == '>';
      type.remove_prefix(1);
    }
    require<InputError>(!type.empty(), "its header has an empty 'descr'");
  }

  void read_shape() {
    expect("(");
    while (!accept(")")) {
      require<InputError>(shape.rank() < Shape::max_rank, "it has more than {} axes", Shape::max_rank);
      shape.push_back(number());
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    has_shape_ = true;
  }

  std::int64_t number() {
    skip_spaces();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    require<InputError>(error == std::errc() && value >= 0, "its header has no valid shape");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  std::string_view quoted() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    require<InputError>(end != std::string_view::npos, "its header is damaged");
    const std::string_view content = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return content;
  }

  bool accept(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) { require<InputError>(accept(word), "its header is damaged"); }
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }

  std::string_view text_;
  bool has_shape_ = false;
};

std::int64_t checked_i64(std::uint64_t value) {
  require<InputError>(value <= std::numeric_limits<std::int64_t>::max(), "the element {} does not fit into i64", value);
  return static_cast<std::int64_t>(value);
}

Shape fortran_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) stride *= std::exchange(strides[axis], stride);
  return strides;
}

/// The number of bytes of an array's elements. Throws InputError for a shape that no tensor can have, also without
/// elements.
std::uint64_t array_bytes(const Shape& shape, std::size_t item) {
  require<InputError>(is_possible(shape), "its shape {} is too large", shape);
  return static_cast<std::uint64_t>(shape.elements()) * item;
}

/// Converts the elements, of type From in the file, to T in row-major order.
template <class T, class From, class Convert>
Tensor array_of(const NpyHeader& header, std::span<const std::byte> bytes, const Convert& convert) {
  const std::uint64_t wanted = array_bytes(header.shape, sizeof(From));
  require<InputError>(wanted == bytes.size(), "has {} bytes of elements, its header says {} for {} of {}", bytes.size(),
                      wanted, header.shape, header.type);
  Tensor values = Tensor::empty(header.shape, dtype_of<T>, detail::host_context().device);
  T* to = values.data<T>();
  const Shape strides = header.fortran_order ? fortran_strides(header.shape) : header.shape.dense_strides();
  detail::for_each_offset(header.shape, strides, [&](std::int64_t offset) {
    std::array<std::byte, sizeof(From)> element;
    std::memcpy(element.data(), bytes.data() + offset * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    if (header.big_endian) std::ranges::reverse(element);
    *to++ = convert(std::bit_cast<From>(element));
  });
  return values;
}

/// Converts the elements by the language's own conversion from From to T.
template <class T, class From>
Tensor array_of(const NpyHeader& header, std::span<const std::byte> bytes) {
  return array_of<T, From>(header, bytes, [](From value) { return static_cast<T>(value); });
}

Tensor elements_of(const NpyHeader& header, std::span<const std::byte> bytes) {
  if (header.type == "f4") return array_of<float, float>(header, bytes);
  if (header.type == "f8") return array_of<float, double>(header, bytes);
  if (header.type == "f2") return array_of<float, std::uint16_t>(header, bytes, from_half);
  if (header.type == "u1") return array_of<std::uint8_t, std::uint8_t>(header, bytes);
  if (header.type == "b1") return array_of<bool, std::uint8_t>(header, bytes);
  if (header.type == "i1") return array_of<std::int32_t, std::int8_t>(header, bytes);
  if (header.type == "i2") return array_of<std::int32_t, std::int16_t>(header, bytes);
  if (header.type == "u2") return array_of<std::int32_t, std::uint16_t>(header, bytes);
  if (header.type == "i4") return array_of<std::int32_t, std::int32_t>(header, bytes);
  if (header.type == "u4") return array_of<std::int64_t, std::uint32_t>(header, bytes);
  if (header.type == "i8") return array_of<std::int64_t, std::int64_t>(header, bytes);
  if (header.type == "u8") return array_of<std::int64_t, std::uint64_t>(header, bytes, checked_i64);
  fail<InputError>("its elements have the type {:?}; numbers of 1 to 8 bytes and booleans are read", header.type);
}

constexpr std::string_view magic = "\x93NUMPY";

bool is_npy(const std::filesystem::path& file) {
  std::array<char, magic.size()> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  return std::ranges::equal(begin, magic);
}

/// The array of the bytes of a .npy file (numpy.lib.format, versions 1 to 3).
Tensor parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require<InputError>(!text.starts_with("PK"), "is not a .npy file but a zip archive, as .npz files are");
  require<InputError>(text.starts_with(magic), "is not a .npy file");
  const auto byte = [&](std::size_t index) {
    require<InputError>(index < bytes.size(), "ends within its header");
    return std::to_integer<std::size_t>(bytes[index]);
  };
  const std::size_t version = byte(magic.size());
  require<InputError>(version >= 1 && version <= 3, "has version {} of the .npy format; 1 to 3 are read", version);
  const std::size_t begin = magic.size() + (version == 1 ? 4 : 6);
  std::size_t length = 0;
  for (std::size_t index = begin; index-- > magic.size() + 2;) length = length << 8 | byte(index);
  require<InputError>(length <= bytes.size() - begin, "ends within its header");
  return elements_of(NpyHeader(text.substr(begin, length)), bytes.subspan(begin + length));
}

/// parse_npy with `name` before the message of an error.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return parse_npy(bytes);
  } catch (Error& error) {
    error.add_context(name);
    throw;
  }
}

}  // namespace

Tensor read_npy(const std::filesystem::path& file) {
  const Tensor bytes = ByteReader(file).read_all();
  return parse_npy(std::as_bytes(bytes.span<const std::uint8_t>()), file.string());
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& file) {
  require<InputError>(!is_npy(file), "{}: is a .npy file of one array; a .npz file of named arrays is needed",
                      file.string());
  std::map<std::string, Tensor> arrays;
  for (const std::string& entry : zip_entry_names(file.string())) {
    constexpr std::string_view extension = ".npy";
    const std::string name = entry.ends_with(extension) ? entry.substr(0, entry.size() - extension.size()) : entry;
    arrays[name] = parse_npy(read_zip_entry(file.string(), entry), fmt::format("{}: {}", file.string(), name));
  }
  return arrays;
}

}  // namespace lockstep
