#include "published_data.h"

#include <algorithm>
#include <future>
#include <utility>

#include <lockstep/models/data/cifar.h>
#include <lockstep/models/data/fashion_mnist.h>
#include <lockstep/models/data/image_preparation.h>
#include <lockstep/models/data/normalization.h>

#include "data_pipeline.h"

namespace lockstep::cli {
namespace {

/// Images stored as bytes in memory; each batch is prepared when it is read.
TrainingData image_data(std::string name, const Example& train, const Example& test, const RowTransform& prepare,
                        const DataOptions& options, std::vector<std::string> class_names) {
  return {.name = std::move(name),
          .preparation = "pixels / 255 - mean of all training images",
          .form = small_images,
          .train = training_batches(Dataset::from_tensors(train), prepare, options),
          .test = test_batches(Dataset::from_tensors(test), prepare, options),
          .train_examples = train.size(),
          .test_examples = test.size(),
          .train_targets = Dataset::from_tensors(train.y()),
          .class_names = std::move(class_names)};
}

struct Parts {
  Example train, test;
  Tensor mean;  ///< of all training images, whatever the limit, so that every command prepares images the same way
};

/// Loads the training and the test part of a data set concurrently.
template <class Load>
Parts load_parts(const Load& load, const DataOptions& options) {
  auto test = std::async(std::launch::async, [&] { return load(Split::test, options.limit_test); });
  const Example all = load(Split::train, std::nullopt);
  const std::int64_t count = std::min(all.size(), options.limit.value_or(all.size()));
  return {.train = all.each([&](const Tensor& tensor) { return tensor.slice_view(0, 0, count); }),
          .test = test.get(),
          .mean = mean_image(all.x())};
}

}  // namespace

TrainingData load_fashion(const std::string& directory, const DataOptions& options) {
  const auto load = [&](Split split, std::optional<std::int64_t> limit) {
    FashionMnistOptions files{.split = split, .limit = limit};
    if (!directory.empty()) files.directory = directory;
    return load_fashion_mnist(files);
  };
  const Parts parts = load_parts(load, options);
  return image_data(
      "Fashion-MNIST", parts.train, parts.test, image_preparation({.mean = parts.mean}), options,
      {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"});
}

TrainingData load_cifar(const std::string& directory, const DataOptions& options) {
  require(!directory.empty(), "--data cifar10:DIR needs the folder of CIFAR-10's binary version");
  const auto load = [&](Split split, std::optional<std::int64_t> limit) {
    return load_cifar10({.directory = directory, .split = split, .limit = limit});
  };
  const Parts parts = load_parts(load, options);
  return image_data("CIFAR-10", parts.train, parts.test, mean_subtraction(parts.mean), options,
                    {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
}

}  // namespace lockstep::cli
