#include "lockstep/models/data/idx.h"

#include <array>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

std::uint32_t read_big_endian(ByteReader& reader, const std::filesystem::path& file) {
  std::array<std::byte, 4> bytes{};
  require<InputError>(reader.read(bytes.data(), bytes.size()) == bytes.size(),
                      "{}: ends within its header, so it is no complete IDX file", file.string());
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

/// The shape from the file's header. Throws InputError unless a file of this size can hold it.
Shape read_header(ByteReader& reader, int rank, const std::filesystem::path& file) {
  constexpr std::uint32_t unsigned_bytes = 0x08;
  const std::uint32_t magic = read_big_endian(reader, file);
  const std::uint32_t wanted = unsigned_bytes << 8 | static_cast<std::uint32_t>(rank);
  require<InputError>(
      magic == wanted,
      "{}: starts with the magic number {:#010x}; an IDX file of bytes with {} dimension(s) starts with {:#010x}",
      file.string(), magic, rank, wanted);
  Shape shape;
  std::uint64_t bytes = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const std::uint32_t size = read_big_endian(reader, file);
    shape.push_back(size);
    const bool fits = !__builtin_mul_overflow(bytes, size, &bytes) && bytes <= reader.most_bytes();
    require<InputError>(fits, "{}: cut short, or the sizes in its header, {}.., are wrong", file.string(), shape);
  }
  return shape;
}

}  // namespace

Tensor read_idx(const std::filesystem::path& file, int rank) {
  ByteReader reader(file);
  const Shape shape = read_header(reader, rank, file);
  const Tensor values = Tensor::empty(shape, DType::u8, detail::host_context().device);
  const auto bytes = static_cast<std::size_t>(values.elements());
  const std::size_t found = reader.read(static_cast<std::byte*>(values.raw_data()), bytes);
  require<InputError>(found == bytes, "{}: has {} of the {} bytes that its header, {}, says", file.string(), found,
                      bytes, shape);
  reader.require_end();
  return values;
}

}  // namespace lockstep
