#include "lockstep/runtime/data/cache_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stack.h>

namespace lockstep::detail {
namespace {

constexpr std::string_view cache_version = "lockstep cache of a data set, version 1";
constexpr std::uint64_t offset_bytes = sizeof(std::uint64_t);

template <class T>
void append(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append(std::string& bytes, const std::vector<Tensor>& tensors) {
  append(bytes, static_cast<std::uint32_t>(tensors.size()));
  for (const Tensor& tensor : tensors) {
    append(bytes, static_cast<std::uint8_t>(tensor.dtype()));
    append(bytes, static_cast<std::uint8_t>(tensor.rank()));
    for (const std::int64_t dim : tensor.shape()) append(bytes, dim);
    const std::size_t begin = bytes.size();
    bytes.resize(begin + static_cast<std::size_t>(bytes_of(tensor)));
    copy_elements(tensor, reinterpret_cast<std::byte*>(bytes.data()) + begin);
  }
}

/// Takes the values of an encoded example one after another.
class ExampleBytes {
 public:
  explicit ExampleBytes(std::span<const char> bytes) : left_(bytes) {}

  std::vector<Tensor> take_tensors() {
    std::vector<Tensor> tensors;
    for (auto count = take<std::uint32_t>(); count > 0; --count) tensors.push_back(take_tensor());
    return tensors;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::span<const char> take_bytes(std::size_t count) {
    require<InputError>(count <= left_.size(), "ends within its element");
    const std::span<const char> taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  template <class T>
  T take() {
    T number;
    std::memcpy(&number, take_bytes(sizeof(T)).data(), sizeof(T));
    return number;
  }
  Tensor take_tensor() {
    const auto dtype = static_cast<DType>(take<std::uint8_t>());
    const auto rank = take<std::uint8_t>();
    require<InputError>(dtype <= DType::boolean && rank <= Shape::max_rank, "has no valid dtype or rank");
    Shape shape;
    std::int64_t most = 1;  // elements without the axes of size 0
    for (int axis = 0; axis < rank; ++axis) {
      shape.push_back(take<std::int64_t>());
      require<InputError>(
          shape[axis] >= 0 && !__builtin_mul_overflow(most, std::max<std::int64_t>(1, shape[axis]), &most),
          "has the shape {}, which no tensor has", shape);
    }
    const auto elements = static_cast<std::size_t>(shape.elements());
    require<InputError>(elements <= left_.size() / size_of(dtype), "ends within its element");
    const std::span<const char> bytes = take_bytes(elements * size_of(dtype));
    if (dtype == DType::boolean)
      for (const char byte : bytes) require<InputError>(byte == 0 || byte == 1, "has a bool that is neither 0 nor 1");
    Tensor tensor = Tensor::empty(shape, dtype);
    if (!bytes.empty()) std::memcpy(tensor.raw_data(), bytes.data(), bytes.size());
    return tensor;
  }

  std::span<const char> left_;
};

std::span<const char> bytes_of_offsets(const std::vector<std::uint64_t>& offsets) {
  return {reinterpret_cast<const char*>(offsets.data()), offsets.size() * offset_bytes};
}

/// The offsets in the record that begins at `offset`.
std::vector<std::uint64_t> read_offsets(RecordFile& file, std::uint64_t offset) {
  const std::string bytes = file.read(file.find(offset));
  std::vector<std::uint64_t> offsets(bytes.size() / offset_bytes);
  if (!offsets.empty()) std::memcpy(offsets.data(), bytes.data(), offsets.size() * offset_bytes);
  return offsets;
}

bool begins_as_cache(RecordFile& file) try {
  return file.read(file.find(0)) == cache_version;
} catch (const InputError&) {
  return false;
}

/// The offsets of the elements' records.
std::vector<std::uint64_t> read_index(RecordFile& file) try {
  const std::vector<std::uint64_t> last = read_offsets(file, file.size() - record_frame_bytes - offset_bytes);
  require<InputError>(last.size() == 1, "it does not end with the offset of its index");
  return read_offsets(file, last.front());
} catch (Error& error) {
  error.add_context("is cut short or damaged; delete it to have it written again: its index");
  throw;
}

}  // namespace

std::string encode_example(const Example& example) {
  std::string bytes;
  for (const std::vector<Tensor>* tensors : {&example.inputs, &example.targets, &example.sample_weights})
    append(bytes, *tensors);
  return bytes;
}

Example decode_example(std::span<const char> bytes) {
  ExampleBytes content(bytes);
  Example example{content.take_tensors(), content.take_tensors(), content.take_tensors()};
  require<InputError>(content.at_end(), "has bytes after its element");
  return example;
}

CacheFileWriter::CacheFileWriter(const std::filesystem::path& path) : file_(path.string()) { write(cache_version); }

void CacheFileWriter::add(const Example& element) {
  offsets_.push_back(offset());
  write(encode_example(element));
}

void CacheFileWriter::commit() {
  const std::uint64_t index = offset();
  write(bytes_of_offsets(offsets_));
  write(bytes_of_offsets({index}));
  flush();
  file_.commit();
}

void CacheFileWriter::write(std::span<const char> record) {
  constexpr std::streamoff bytes_at_once = 1 << 20;
  write_record(buffer_, record);
  if (buffer_.tellp() >= bytes_at_once) flush();
}

void CacheFileWriter::flush() {
  file_.write(std::as_bytes(std::span(buffer_.view())));
  flushed_ = offset();
  buffer_.str({});
}

CacheFileReader::CacheFileReader(const std::filesystem::path& path) try : path_(path), file_(path) {
  require<InputError>(begins_as_cache(file_),
                      "it is no cache file of this version of lockstep; delete it or name another file");
  offsets_ = read_index(file_);
} catch (Error& error) {
  error.add_context(path.string());
  throw;
}

Example CacheFileReader::read(std::int64_t number) try {
  return decode_example(file_.read(file_.find(offsets_[static_cast<std::size_t>(number)])));
} catch (Error& error) {
  error.add_context(fmt::format("{}: element {}", path_.string(), number));
  throw;
}

}  // namespace lockstep::detail
