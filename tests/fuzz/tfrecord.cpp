#include <lockstep/models/data/tfrecord.h>

#include "fuzz_target.h"

/// A TFRecord file of examples that should have numbers, integers, bytes and an image.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lockstep::FeatureType;
  static const lockstep::fuzz::InputFile file("records");
  file.write(data, size);
  const lockstep::TfRecordOptions options{
      .inputs = {{"x", FeatureType::numbers, {2}}, {"raw", FeatureType::bytes, {2}}},
      .targets = {{"y", FeatureType::integers}, {"i", FeatureType::image, {3}}}};
  lockstep::fuzz::result_or_error([&] {
    for (const lockstep::Example& example : lockstep::tfrecord_dataset({file.path()}, options).epoch()) (void)example;
  });
  return 0;
}
