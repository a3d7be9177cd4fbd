#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/shapes.h>
#include <lockstep/models/data/image_augmentation.h>
#include <lockstep/models/data/image_preparation.h>
#include <lockstep/models/data/label_preparation.h>
#include <lockstep/models/data/normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/losses/keras_losses.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>
#include <lockstep/strategy/input/distributed_dataset.h>

// Training data that stay on the devices (DistributeOptions::cache_on_devices).

namespace lockstep {
namespace {

using test::mirrored;

/// 23 images with masks, or with labels, of these shapes.
Tensor pixels(const Shape& shape, DType dtype, unsigned seed) {
  const Tensor values = test::random_tensor(shape, seed, 0, dtype == DType::f32 ? 1 : 255.99);
  if (dtype == DType::f32) return values;
  const Tensor result = Tensor::empty(shape, dtype);
  visit_dtype(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < values.elements(); ++i) result.span<T>()[i] = static_cast<T>(values.span<float>()[i]);
  });
  return result;
}

class DataOnDevices : public testing::TestWithParam<int> {
 protected:
  void expect_same_batches(const Dataset& batches) const {
    const DistributedDataset copied = strategy_.distribute(batches);
    const DistributedDataset kept = strategy_.distribute(batches, {.cache_on_devices = true});
    for (const std::uint64_t epoch : {0U, 2U}) {
      DistributedIterator pass = kept.epoch(epoch);
      for (const DistributedBatch& wanted : copied.epoch(epoch)) {
        const DistributedBatch found = pass.next().value();
        for (int replica = 0; replica < GetParam(); ++replica) {
          test::expect_same_bits(found.part(replica).x(), wanted.part(replica).x());
          test::expect_same_bits(found.part(replica).y(), wanted.part(replica).y());
        }
      }
      EXPECT_FALSE(pass.next().has_value());
    }
  }

  const MirroredStrategy strategy_ = mirrored(GetParam());
};

TEST_P(DataOnDevices, AreMovedAsOnTheHost) {
  for (const DType dtype : {DType::u8, DType::f32})
    for (const Shape& shape : {Shape{23, 6, 5, 3}, Shape{23, 6, 5}})
      for (const FillMode mode : {FillMode::nearest, FillMode::constant, FillMode::reflect, FillMode::wrap}) {
        const Dataset images = Dataset::from_tensors(pixels(shape, dtype, 1), pixels({23}, DType::i32, 2));
        expect_same_batches(images.shuffle({.seed = 3})
                                .map(image_augmentation({.width_shift_range = 0.4,
                                                         .height_shift_range = 3,
                                                         .horizontal_flip = true,
                                                         .vertical_flip = true,
                                                         .fill_mode = mode,
                                                         .cval = 0.3}))
                                .map(random_crop({.size = {5, 4}, .padding = 1, .fill_mode = mode, .seed = 4}))
                                .batch(6));
      }
}

TEST_P(DataOnDevices, AreMovedWithTheirMasks) {
  for (const DType dtype : {DType::u8, DType::i32}) {
    const Dataset images = Dataset::from_tensors(pixels({23, 6, 5, 3}, DType::u8, 1), pixels({23, 6, 5}, dtype, 2));
    expect_same_batches(images
                            .map(image_augmentation({.width_shift_range = 2.5,
                                                     .vertical_flip = true,
                                                     .fill_mode = FillMode::constant,
                                                     .mask = true,
                                                     .mask_cval = 255}))
                            .shuffle()
                            .map(random_crop({.size = {6, 5}, .padding = 2, .mask = true}))
                            .batch(6, /*drop_remainder=*/true));
  }
}

TEST_P(DataOnDevices, AreNormalizedAsOnTheHost) {
  const Tensor gray = pixels({23, 6, 5}, DType::u8, 1);
  const Tensor labels = pixels({23}, DType::u8, 2);
  const Dataset bytes = Dataset::from_tensors(gray, labels).shuffle({.seed = 3}).batch(6);
  expect_same_batches(bytes.map(image_preparation({.mean = mean_image(gray), .padding = 2, .channels = 3})));
  expect_same_batches(bytes.map(mean_subtraction(mean_image(gray))).map(one_hot(256)));
  for (const DType dtype : {DType::u8, DType::f32}) {
    const Tensor colors = pixels({23, 4, 3, 3}, dtype, 4);
    const Dataset set = Dataset::from_tensors(colors, labels).shuffle();
    expect_same_batches(set.map(channel_normalization(channel_statistics(colors))).batch(6));
    expect_same_batches(set.map(rescaling({.scale = 1 / 127.5F, .offset = -1})).batch(6));
  }
}

TEST_P(DataOnDevices, TrainTheSameModel) {
  const Tensor images = pixels({23, 6, 5, 3}, DType::u8, 1);
  const Dataset batches = Dataset::from_tensors(images, pixels({23, 1}, DType::f32, 2))
                              .shuffle({.seed = 1})
                              .map(image_augmentation({.width_shift_range = 0.2, .horizontal_flip = true}))
                              .batch(8)
                              .map(rescaling({.scale = 1 / 255.0F}));
  const auto weights = [&](bool on_devices) {
    Model model = strategy_.scope([] {
      const Symbol x = Input({6, 5, 3});
      return Model(x, Dense({.units = 1})(Flatten()(x)));
    });
    model.compile(SGD({.learning_rate = 0.01}), MeanSquaredError());
    model.fit(batches, {.epochs = 3, .distribute = {.cache_on_devices = on_devices}});
    return model.trainable_variables().front().value().to_vector<float>();
  };
  EXPECT_EQ(weights(true), weights(false));
}

INSTANTIATE_TEST_SUITE_P(Replicas, DataOnDevices, testing::Values(1, 2, 3));

}  // namespace
}  // namespace lockstep
