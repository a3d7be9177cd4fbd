#include "lockstep/models/data/tfrecord.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <tf_example.pb.h>

#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/record.h>

namespace lockstep {
namespace {

/// A record, and where its data lie.
struct RecordOfFiles {
  std::size_t file;     ///< index of its file
  std::int64_t number;  ///< of the record in its file
  RecordPosition position;
};

/// Appends all records of a file.
void scan(const std::filesystem::path& path, std::size_t index, std::vector<RecordOfFiles>& records) {
  RecordFile file(path);
  std::uint64_t offset = 0;
  for (std::int64_t number = 0; offset < file.size(); ++number) try {
      records.push_back({index, number, file.find(offset)});
      offset = records.back().position.end();
    } catch (Error& error) {
      error.add_context(fmt::format("{}: record {}", path.string(), number));
      throw;
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

/// Files and their records.
struct Records {
  std::vector<std::filesystem::path> files;
  TfRecordOptions options;
  std::vector<RecordOfFiles> records{};

  Example read(std::size_t index) const {
    const RecordOfFiles& at = records[index];
    try {
      const std::string data = RecordFile(files[at.file]).read(at.position);
      tensorflow::Example record;
      require<InputError>(record.ParseFromString(data), "is not a tf.train.Example");
      return {tensors_of(record, options.inputs), tensors_of(record, options.targets)};
    } catch (Error& error) {
      error.add_context(fmt::format("{}: record {}", files[at.file].string(), at.number));
      throw;
    }
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
  for (std::size_t i = 0; i < files.size(); ++i) scan(files[i], i, records.records);
  const Dataset numbers = example_numbers(records.records.size(), options.shuffle, options.seed);
  return numbers.map([shared = std::make_shared<const Records>(std::move(records))](const Example& number) {
    return shared->read(static_cast<std::size_t>(number.x().item<std::int64_t>()));
  });
}

}  // namespace lockstep
