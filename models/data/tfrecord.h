#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// The kind of value that a feature of a tf.train.Example has, and the tensor that it becomes.
enum class FeatureType {
  numbers,   ///< a float_list: f32 of the given shape
  integers,  ///< an int64_list: i64 of the given shape
  bytes,     ///< a bytes_list of one element: its bytes, u8 of the given shape
  /// A bytes_list of one JPEG, PNG or BMP file: u8 (height, width, channels). RecordFeature::shape is (channels), where
  /// channels is 1 or 3, or (height, width, channels) if all images have one size.
  image,
};

/// A feature that every record has; tf.io.FixedLenFeature.
struct RecordFeature {
  std::string name;  ///< key of the feature
  FeatureType type;  ///< kind of its value
  Shape shape{};     ///< shape for one example
};

/// tfrecord_dataset's options.
struct TfRecordOptions {
  std::vector<RecordFeature> inputs{};   ///< the features that become Example's inputs, in their order
  std::vector<RecordFeature> targets{};  ///< the features that become Example's targets
  /// If given, applied to each example; must be thread-safe. Its errors get the file and the record in their messages.
  std::function<Example(const Example&)> transform{};
  /// Reads the records of all files in a new order in each epoch, but `take` and `skip` select the same records in
  /// every epoch.
  bool shuffle = false;
  std::uint64_t seed = 0;  ///< seed of the shuffle
};

/// The records of TFRecord files, each a serialized tf.train.Example, in the order of the files. The call only scans
/// the files for the positions of records. Records are read when they are needed, on all threads of the reader, so
/// files may be larger than memory. A file compressed by gzip is decompressed into memory. Throws InvalidArgument if
/// `inputs` is empty, and for a FeatureType::image whose shape is not one of the shapes described there. Throws
/// InputError, which names the file and the record, from 0, if a file is missing, damaged or cut short, and if the
/// checksum of a record's length is wrong.
///
/// Reading the data set throws InputError if the checksum of a record's data is wrong, if the data are not an example,
/// and if a feature is missing or has another type or number of values. It also throws InputError for an image that
/// cannot be decoded or has another size. It also passes on the errors of `transform`: a lockstep::Error keeps its
/// type, any other exception is nested in an InputError.
Dataset tfrecord_dataset(const std::vector<std::filesystem::path>& files, const TfRecordOptions& options);

/// The features of the first record of TFRecord files, sorted by name, as tfrecord_dataset can read them. The shape of
/// a float list or int64 list is its length. A bytes list of one element is an image of 3 channels if it is a JPEG, PNG
/// or BMP file, and bytes otherwise. Leaves out empty lists and bytes lists of several elements. Throws the InputErrors
/// of tfrecord_dataset, and InputError for files without records.
std::vector<RecordFeature> tfrecord_features(const std::vector<std::filesystem::path>& files);

}  // namespace lockstep
