#include "data_source.h"

#include <algorithm>
#include <charconv>

#include <lockstep/models/data/cifar.h>
#include <lockstep/models/data/fashion_mnist.h>
#include <lockstep/models/data/image_preparation.h>
#include <lockstep/models/data/normalization.h>

namespace lockstep::cli {
namespace {

constexpr std::int64_t synthetic_default = 1024;
constexpr std::int64_t batches_ahead = 2;
const ExampleForm small_images{{32, 32, 3}, 10};

using Transform = std::function<Example(const Example&)>;

/// The order of the stages of training: mixing examples before they are batched, preparing whole batches.
Dataset training_batches(const Example& examples, const Transform& prepare, const DataOptions& options) {
  Dataset data = Dataset::from_tensors(examples.inputs(), examples.y);
  if (options.shuffle) data = data.shuffle({.seed = options.seed});
  data = data.batch(options.batch_size, options.drop_remainder);
  return prepare ? data.map(prepare).prefetch(batches_ahead) : data;
}

/// Images of bytes, prepared batch by batch with the training images' mean.
TrainingData image_data(std::string name, const Example& train, const Example& test, const Transform& prepare,
                        const DataOptions& options) {
  Dataset test_batches =
      Dataset::from_tensors(test.x, test.y).batch(options.batch_size).map(prepare).prefetch(batches_ahead);
  return {std::move(name),         small_images, training_batches(train, prepare, options),
          std::move(test_batches), train.size(), test.size()};
}

TrainingData load_fashion(const std::string& directory, const DataOptions& options) {
  FashionMnistOptions files;
  if (!directory.empty()) files.directory = directory;
  files.limit = options.limit;
  const Example train = load_fashion_mnist(files);
  files.split = Split::test;
  files.limit = options.limit_test;
  return image_data("Fashion-MNIST", train, load_fashion_mnist(files), image_preparation({.mean = mean_image(train.x)}),
                    options);
}

TrainingData load_cifar(const std::string& directory, const DataOptions& options) {
  require(!directory.empty(), "--data cifar10:DIR needs the folder of CIFAR-10's binary version");
  const Example train = load_cifar10({.directory = directory, .limit = options.limit});
  const Example test = load_cifar10({.directory = directory, .split = Split::test, .limit = options.limit_test});
  return image_data("CIFAR-10", train, test, mean_subtraction(mean_image(train.x)), options);
}

std::int64_t synthetic_count(const std::string& text) {
  if (text.empty()) return synthetic_default;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  require(error == std::errc() && stop == end && count >= 1,
          "--data synthetic:N needs a whole number of examples of at least 1, got '{}'", text);
  return count;
}

TrainingData make_synthetic(const std::string& text, const DataOptions& options, ModelKind model) {
  const std::int64_t count = std::min(synthetic_count(text), options.limit.value_or(INT64_MAX));
  const ExampleForm form = usual_form(model);
  const Example examples = synthetic_examples(form, count, options.seed);
  return {"synthetic data", form, training_batches(examples, {}, options), std::nullopt, count, 0};
}

}  // namespace

TrainingData load_data(const DataOptions& options, ModelKind model) {
  const std::size_t colon = options.source.find(':');
  const std::string kind = options.source.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : options.source.substr(colon + 1);
  if (kind == "synthetic") return make_synthetic(rest, options, model);
  require(kind == "fashion-mnist" || kind == "cifar10",
          "--data '{}' is not known; choose fashion-mnist[:DIR], cifar10:DIR or synthetic[:N]", options.source);
  require(takes_images(model) && model != ModelKind::xception,
          "--data {}, of images of 32 x 32, does not suit this --model, which takes {}; use --data synthetic", kind,
          model == ModelKind::xception ? "larger ones" : fmt::format("{}", usual_form(model).shape));
  return kind == "cifar10" ? load_cifar(rest, options) : load_fashion(rest, options);
}

}  // namespace lockstep::cli
