#include "lockstep/models/data/tfrecord.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include <tf_example.pb.h>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/image_codec.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/record.h>
#include <lockstep/runtime/data/element_error.h>

namespace lockstep {
namespace {

/// A record, and where its data lie.
struct RecordOfFiles {
  std::size_t file;     ///< index of its file
  std::int64_t number;  ///< of the record in its file
  RecordPosition position;
};

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
    case FeatureType::image: {
      const Tensor image = decode_image(std::as_bytes(std::span(bytes_in(feature))), wanted.shape.dim(-1));
      require<InputError>(wanted.shape.rank() == 1 || image.shape() == wanted.shape, "is an image {}, not {}",
                          image.shape(), wanted.shape);
      return image;
    }
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

/// A feature's own type and shape, if RecordFeature has them.
std::optional<RecordFeature> described(const std::string& name, const tensorflow::Feature& feature) {
  const auto* const numbers = values_of<FeatureType::numbers>(feature);
  const auto* const integers = values_of<FeatureType::integers>(feature);
  const auto* const bytes = values_of<FeatureType::bytes>(feature);
  if (numbers != nullptr && !numbers->empty()) return RecordFeature{name, FeatureType::numbers, {numbers->size()}};
  if (integers != nullptr && !integers->empty()) return RecordFeature{name, FeatureType::integers, {integers->size()}};
  if (bytes == nullptr || bytes->size() != 1) return std::nullopt;
  if (is_image(std::as_bytes(std::span(bytes->Get(0))))) return RecordFeature{name, FeatureType::image, {3}};
  return RecordFeature{name, FeatureType::bytes, {static_cast<std::int64_t>(bytes->Get(0).size())}};
}

/// Files and their records.
class Records {
 public:
  /// Scans files until there are `most` records.
  explicit Records(const std::vector<std::filesystem::path>& files, std::size_t most = SIZE_MAX)
      : files_(files), contents_(files.size()) {
    for (std::size_t i = 0; i < files_.size() && records_.size() < most; ++i) {
      if (ByteReader reader(files_[i]); reader.is_compressed()) contents_[i] = reader.read_all();
      scan(i, most);
    }
  }

  std::size_t size() const { return records_.size(); }

  /// read_record(record `index`).
  template <class Read>
  auto read(std::size_t index, const Read& read_record) const {
    const RecordOfFiles& at = records_[index];
    try {
      tensorflow::Example record;
      const std::string data = open(at.file).read(at.position);
      require<InputError>(record.ParseFromString(data), "is not a tf.train.Example");
      return read_record(record);
    } catch (...) {
      std::rethrow_exception(in_context(at.file, at.number));
    }
  }

 private:
  void scan(std::size_t index, std::size_t most) {
    RecordFile file = open(index);
    std::uint64_t offset = 0;
    for (std::int64_t number = 0; offset < file.size() && records_.size() < most; ++number) try {
        records_.push_back({index, number, file.find(offset)});
        offset = records_.back().position.end();
      } catch (...) {
        std::rethrow_exception(in_context(index, number));
      }
  }

  RecordFile open(std::size_t index) const {
    const Tensor& content = contents_[index];
    if (!content.defined()) return RecordFile(files_[index]);
    return RecordFile(
        std::span(static_cast<const char*>(content.raw_data()), static_cast<std::size_t>(content.dim(0))));
  }

  /// The current exception with the record in its message.
  std::exception_ptr in_context(std::size_t file, std::int64_t number) const {
    return detail::with_context(fmt::format("{}: record {}", files_[file].string(), number));
  }

  std::vector<std::filesystem::path> files_;
  std::vector<Tensor> contents_;  ///< of compressed files; undefined for others
  std::vector<RecordOfFiles> records_;
};

void check_features(const TfRecordOptions& options) {
  require(!options.inputs.empty(), "tfrecord_dataset() needs a feature for the inputs");
  for (const auto* features : {&options.inputs, &options.targets})
    for (const RecordFeature& feature : *features) {
      (void)feature.shape.elements();
      if (feature.type != FeatureType::image) continue;
      const int axes = feature.shape.rank();
      const std::int64_t channels = axes == 1 || axes == 3 ? feature.shape.dim(-1) : 0;
      require(
          channels == 1 || channels == 3,
          "the shape of the image {:?} must be (channels) or (height, width, channels) with 1 or 3 channels, got {}",
          feature.name, feature.shape);
    }
}

}  // namespace

Dataset tfrecord_dataset(const std::vector<std::filesystem::path>& files, const TfRecordOptions& options) {
  check_features(options);
  const auto records = std::make_shared<const Records>(files);
  const Dataset numbers = example_numbers(records->size(), options.shuffle, options.seed);
  return numbers.map([options, records](const Example& number) {
    const auto index = static_cast<std::size_t>(number.x().item<std::int64_t>());
    return records->read(index, [&](const tensorflow::Example& record) {
      const Example example{tensors_of(record, options.inputs), tensors_of(record, options.targets)};
      return options.transform ? options.transform(example) : example;
    });
  });
}

std::vector<RecordFeature> tfrecord_features(const std::vector<std::filesystem::path>& files) {
  const Records records(files, 1);
  require<InputError>(records.size() > 0, "{}: there are no records", files.empty() ? "" : files.front().string());
  std::map<std::string, RecordFeature> features;  // in the order of the names, which the record's map does not have
  records.read(0, [&](const tensorflow::Example& record) {
    for (const auto& [name, feature] : record.features().feature())
      if (std::optional<RecordFeature> found = described(name, feature)) features.emplace(name, std::move(*found));
  });
  std::vector<RecordFeature> sorted;
  for (auto& [name, feature] : features) sorted.push_back(std::move(feature));
  return sorted;
}

}  // namespace lockstep
