#include "lockstep/models/data/tfrecord.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <utility>

#include <tf_example.pb.h>

#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/models/files/record.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// The position of the data of a record.
struct RecordPosition {
  std::size_t file;      ///< the file's index
  std::int64_t number;   ///< number of the record in its file
  std::uint64_t offset;  ///< offset of the data in bytes
  std::uint64_t length;
};

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::size_t crc_bytes = sizeof(std::uint32_t);

std::ifstream open_records(const std::filesystem::path& path) {
  std::error_code error;
  require<InputError>(std::filesystem::is_regular_file(path, error), "{}: there is no such file", path.string());
  std::ifstream file(path, std::ios::binary);
  require<InputError>(file.is_open(), "{}: cannot be opened", path.string());
  return file;
}

/// Whether the checksum `stored` is that of `bytes`.
bool has_crc(std::span<const char> bytes, const char* stored) {
  std::uint32_t crc = 0;
  std::memcpy(&crc, stored, crc_bytes);
  return crc == masked_crc(bytes);
}

/// Appends the positions of all records of a file.
void scan(const std::filesystem::path& path, std::size_t index, std::vector<RecordPosition>& positions) {
  std::ifstream file = open_records(path);
  const std::uint64_t size = std::filesystem::file_size(path);
  std::uint64_t offset = 0;
  for (std::int64_t number = 0; offset < size; ++number) {
    const auto complain = [&](const char* problem) {
      fail<InputError>("{}: record {}: {}", path.string(), number, problem);
    };
    std::array<char, length_bytes + crc_bytes> head{};
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(head.data(), head.size());
    if (number == 0 && head[0] == '\x1f' && head[1] == '\x8b')
      fail<InputError>("{}: is compressed; records are read from files that gunzip has decompressed", path.string());
    if (!file) complain("the file ends within it");
    if (!has_crc(std::span(head).first(length_bytes), &head[length_bytes])) complain("its length has a wrong checksum");
    std::uint64_t length = 0;
    std::memcpy(&length, head.data(), length_bytes);
    offset += head.size();
    if (length > size - offset || crc_bytes > size - offset - length) complain("the file ends within it");
    positions.push_back({index, number, offset, length});
    offset += length + crc_bytes;
  }
}

/// The values of a feature, or null if it does not have a list of this type.
template <FeatureType type>
const auto* values_of(const tensorflow::Feature& feature) {
  if constexpr (type == FeatureType::numbers)
    return feature.has_float_list() ? &feature.float_list().value() : nullptr;
  else if constexpr (type == FeatureType::integers)
    return feature.has_int64_list() ? &feature.int64_list().value() : nullptr;
  else
    return feature.has_bytes_list() ? &feature.bytes_list().value() : nullptr;
}

template <class T, class Values>
Tensor tensor_of(const Values* values, const Shape& shape, const char* what) {
  require<InputError>(values != nullptr, "has no {}", what);
  require<InputError>(static_cast<std::int64_t>(values->size()) == shape.elements(), "has {} {}, {} needs {}",
                      values->size(), what, shape, shape.elements());
  Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  std::copy(values->begin(), values->end(), tensor.data<T>());
  return tensor;
}

const std::string& bytes_in(const tensorflow::Feature& feature) {
  const auto* values = values_of<FeatureType::bytes>(feature);
  require<InputError>(values != nullptr && values->size() == 1, "does not have one element of bytes");
  return values->Get(0);
}

Tensor tensor_of(const tensorflow::Feature& feature, const RecordFeature& wanted) {
  switch (wanted.type) {
    case FeatureType::numbers:
      return tensor_of<float>(values_of<FeatureType::numbers>(feature), wanted.shape, "number(s)");
    case FeatureType::integers:
      return tensor_of<std::int64_t>(values_of<FeatureType::integers>(feature), wanted.shape, "integer(s)");
    case FeatureType::bytes:
      return tensor_of<std::uint8_t>(&bytes_in(feature), wanted.shape, "byte(s)");
    case FeatureType::image:
      return decode_image(std::as_bytes(std::span(bytes_in(feature))), wanted.shape.dim(-1));
  }
  fail<BrokenInvariant>("no such type of feature");
}

std::vector<Tensor> tensors_of(const tensorflow::Example& record, const std::vector<RecordFeature>& features) {
  std::vector<Tensor> tensors;
  for (const RecordFeature& wanted : features) {
    const auto found = record.features().feature().find(wanted.name);
    require<InputError>(found != record.features().feature().end(), "has no feature {:?}", wanted.name);
    try {
      tensors.push_back(tensor_of(found->second, wanted));
    } catch (Error& error) {
      error.add_context(fmt::format("feature {:?}", wanted.name));
      throw;
    }
  }
  return tensors;
}

/// Files and the positions of their records.
struct Records {
  std::vector<std::filesystem::path> files;
  TfRecordOptions options;
  std::vector<RecordPosition> positions{};

  Example read(std::size_t index) const {
    const RecordPosition& at = positions[index];
    try {
      const std::string data = data_of(at);
      tensorflow::Example record;
      require<InputError>(record.ParseFromString(data), "is not a tf.train.Example");
      return {tensors_of(record, options.inputs), tensors_of(record, options.targets)};
    } catch (Error& error) {
      error.add_context(fmt::format("{}: record {}", files[at.file].string(), at.number));
      throw;
    }
  }

 private:
  std::string data_of(const RecordPosition& at) const {
    std::ifstream file = open_records(files[at.file]);
    file.seekg(static_cast<std::streamoff>(at.offset));
    std::string data(at.length + crc_bytes, '\0');
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    require<InputError>(static_cast<bool>(file), "the file is shorter than when it was opened");
    require<InputError>(has_crc(std::span(data).first(at.length), &data[at.length]), "its data have a wrong checksum");
    data.resize(at.length);
    return data;
  }
};

void check_features(const TfRecordOptions& options) {
  require(!options.inputs.empty(), "tfrecord_dataset() needs a feature for the inputs");
  for (const auto* features : {&options.inputs, &options.targets})
    for (const RecordFeature& feature : *features) {
      const std::int64_t channels = feature.shape.rank() == 0 ? 0 : feature.shape.dim(-1);
      require(feature.type != FeatureType::image || channels == 1 || channels == 3,
              "the shape of the image {:?} must end with 1 or 3 channels, got {}", feature.name, feature.shape);
      (void)feature.shape.elements();
    }
}

}  // namespace

Dataset tfrecord_dataset(const std::vector<std::filesystem::path>& files, const TfRecordOptions& options) {
  check_features(options);
  Records records{files, options};
  for (std::size_t i = 0; i < files.size(); ++i) scan(files[i], i, records.positions);
  const Dataset numbers = example_numbers(records.positions.size(), options.shuffle, options.seed);
  return numbers.map([shared = std::make_shared<const Records>(std::move(records))](const Example& number) {
    return shared->read(static_cast<std::size_t>(number.x().item<std::int64_t>()));
  });
}

}  // namespace lockstep
