#include "data_source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <future>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/models/data/cifar.h>
#include <lockstep/models/data/fashion_mnist.h>
#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/data/image_augmentation.h>
#include <lockstep/models/data/image_directory.h>
#include <lockstep/models/data/image_preparation.h>
#include <lockstep/models/data/normalization.h>
#include <lockstep/models/files/hdf5_file.h>

#include "nearest_name.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t synthetic_default = 1024;
constexpr std::int64_t batches_ahead = 2;
constexpr double largest_shift = 0.1;  ///< of --augment, as a fraction of the width and of the height
const ExampleForm small_images{{32, 32, 3}, 10};

/// Builds the input pipeline for training: shuffles and augments examples, then batches, then prepares whole batches.
Dataset training_batches(Dataset data, const std::optional<RowTransform>& prepare, const DataOptions& options) {
  if (options.shuffle) data = data.shuffle({.seed = options.seed});
  if (options.augment)
    data = data.map(image_augmentation({.width_shift_range = largest_shift,
                                        .height_shift_range = largest_shift,
                                        .horizontal_flip = true,
                                        .seed = options.seed}));
  data = data.batch(options.batch_size, options.drop_remainder);
  return prepare ? data.map(*prepare).prefetch(batches_ahead) : data;
}

Dataset test_batches(const Dataset& data, const RowTransform& prepare, const DataOptions& options) {
  return data.batch(options.batch_size).map(prepare).prefetch(batches_ahead);
}

/// Images stored as bytes in memory; each batch is prepared when it is read.
TrainingData image_data(std::string name, const Example& train, const Example& test, const RowTransform& prepare,
                        const DataOptions& options, std::vector<std::string> class_names) {
  return {std::move(name),
          "pixels / 255 - mean of all training images",
          small_images,
          training_batches(Dataset::from_tensors(train), prepare, options),
          test_batches(Dataset::from_tensors(test), prepare, options),
          train.size(),
          test.size(),
          std::move(class_names)};
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

std::int64_t synthetic_count(const std::string& text) {
  if (text.empty()) return synthetic_default;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  require(error == std::errc() && stop == end && count >= 1,
          "--data synthetic:N needs a whole number of examples of at least 1, got '{}'", text);
  return count;
}

TrainingData make_synthetic(const std::string& text, const DataOptions& options, const ModelInput& model) {
  const std::int64_t count = std::min(synthetic_count(text), options.limit.value_or(INT64_MAX));
  const ExampleForm& form = model.form;
  const Example examples = synthetic_examples(form, count, options.seed);
  return {.name = "synthetic data",
          .preparation = "",
          .form = form,
          .train = training_batches(Dataset::from_tensors(examples), {}, options),
          .test = std::nullopt,
          .train_examples = count};
}

Dataset limited(const Dataset& data, const std::optional<std::int64_t>& limit) {
  return limit ? data.take(*limit) : data;
}

std::int64_t count_of(const Dataset& data) { return data.size().value_or(0); }

/// A choice of --rescaling.
struct Rescaling {
  const char* name;
  const char* formula;
  RescalingOptions options;
};
constexpr std::array rescalings{
    Rescaling{"none", "values as they are", {}}, Rescaling{"zero-to-one", "values / 255", {.scale = 1 / 255.0F}},
    Rescaling{"minus-one-to-one", "values / 127.5 - 1", {.scale = 1 / 127.5F, .offset = -1}}};

const Rescaling& rescaling_named(const std::string& name) {
  return *std::ranges::find_if(rescalings, [&](const Rescaling& each) { return each.name == name; });
}

/// Converts bytes to f32; other dtypes are kept unless they are rescaled.
RowTransform preparation_of(const Rescaling& chosen, DType dtype) {
  const bool changes = dtype == DType::u8 || chosen.options.scale != 1;
  return changes ? rescaling(chosen.options) : RowTransform([](const Example& rows) { return rows; });
}

std::string text_of(const Rescaling& chosen) { return fmt::format("{} (--rescaling {})", chosen.formula, chosen.name); }

template <class T>
std::int64_t largest_of(const Tensor& labels) {
  const auto values = labels.span<const T>();
  return static_cast<std::int64_t>(*std::max_element(values.begin(), values.end()));
}

/// The number of classes of the integer labels `y` in a file.
std::int64_t classes_of(const std::string& file, const std::string& y) {
  require<InputError>(
      !y.empty(),
      "--data hdf5:{}: has no labels, from which a model of the zoo gets its number of classes; give --model a file",
      file);
  std::int64_t most = 0;
  for (const Example& labels : hdf5_dataset(file, y).batch(4096).epoch()) {
    const DType dtype = labels.x().dtype();
    require<InputError>(dtype != DType::f32, "--data hdf5:{}: {} must be whole-numbered classes", file, y);
    most = std::max(most, dtype == DType::u8    ? largest_of<std::uint8_t>(labels.x())
                          : dtype == DType::i32 ? largest_of<std::int32_t>(labels.x())
                                                : largest_of<std::int64_t>(labels.x()));
  }
  return most + 1;
}

/// The training or the test part of an HDF5 file.
struct Hdf5Part {
  std::string x, y;  ///< names of the HDF5 datasets; empty when the file lacks one
  std::optional<Dataset> examples{};
};

Hdf5Part hdf5_part(const std::string& file, const std::vector<std::string>& names, const std::string& part,
                   const std::optional<std::int64_t>& limit) {
  const auto if_there = [&](const std::string& name) {
    return std::ranges::find(names, name) == names.end() ? std::string() : name;
  };
  Hdf5Part found{if_there("x_" + part), if_there("y_" + part)};
  if (!found.x.empty()) found.examples = limited(hdf5_dataset(file, found.x, found.y), limit);
  return found;
}

TrainingData load_hdf5(const std::string& file, const DataOptions& options, const ModelInput& model) {
  require(!file.empty(), "--data hdf5:FILE needs the file");
  const std::vector<std::string> names = hdf5::Reader(file).names_in("/");
  const Hdf5Part train = hdf5_part(file, names, "train", options.limit);
  const Hdf5Part test = hdf5_part(file, names, "test", options.limit_test);
  require<InputError>(!options.for_training || (train.examples && !train.y.empty()),
                      "--data hdf5:{}: has no x_train and y_train to train with", file);
  require<InputError>(!options.for_training || !test.examples || !test.y.empty(),
                      "--data hdf5:{}: has x_test without y_test, which validation needs", file);
  require<InputError>(train.examples || test.examples, "--data hdf5:{}: has neither x_train nor x_test", file);
  const Hdf5Part& first_part = train.examples ? train : test;
  const std::optional<Example> first = first_part.examples->epoch().next();
  require<InputError>(first.has_value(), "--data hdf5:{}: {} has no rows", file, first_part.x);
  const ExampleForm& usual = model.form;
  const Shape shape = first->x().shape();
  const bool fits = model.any_size ? shape.rank() == usual.shape.rank() : shape == usual.shape;
  require(usual.inputs == 1 && fits, "--data hdf5:{}: {} has examples of {}, this --model takes {}{}", file,
          first_part.x, shape, usual.inputs == 1 ? "" : "pairs of ", usual.shape);
  const Rescaling& chosen = rescaling_named(options.rescaling);
  const RowTransform prepare = preparation_of(chosen, first->x().dtype());
  TrainingData data{
      .name = std::filesystem::path(file).filename().string(),
      .preparation = text_of(chosen),
      .form = {shape, model.any_size ? classes_of(file, first_part.y.empty() ? test.y : first_part.y) : usual.classes},
      .train = training_batches(*first_part.examples, prepare, options),
      .test = std::nullopt,
      .train_examples = count_of(*first_part.examples)};
  if (test.examples) {
    data.test = test_batches(*test.examples, prepare, options);
    data.test_examples = count_of(*test.examples);
  }
  return data;
}

/// Names of the subfolders of `directory`, sorted.
std::vector<std::string> folders_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (std::string name = entry.path().filename().string(); entry.is_directory() && !name.starts_with('.'))
      names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

/// Folders with the training and the test examples.
struct FolderParts {
  std::filesystem::path train;
  std::optional<std::filesystem::path> test{};
};

/// A subfolder named "train" is the training part if it contains folders (one for each class); otherwise it is a class.
FolderParts parts_of(const std::filesystem::path& root) {
  constexpr std::array test_names{"test", "val", "valid", "validation"};
  const std::filesystem::path train = root / "train";
  if (!std::filesystem::is_directory(train) || folders_in(train).empty()) return {root};
  FolderParts parts{train};
  for (const std::string& name : folders_in(root)) {
    const bool to_test = std::ranges::find(test_names, name) != test_names.end();
    require<InputError>(to_test || name == "train",
                        "--data images:{}: 'train' has folders of classes; the folder '{}' beside it must be one of {}",
                        root.string(), name, fmt::join(test_names, ", "));
    if (to_test && !parts.test) parts.test = root / name;  // folders are sorted: "test" comes first
  }
  return parts;
}

/// Loads a folder that has one subfolder for each class, or "train" and a test folder that do.
TrainingData load_folder(const std::string& directory, const DataOptions& options, const ModelInput& model) {
  require(!directory.empty(), "--data images:DIR needs the folder, with one of images in it for each class");
  const Shape& shape = model.form.shape;
  ImageDirectoryOptions files{.image_size = {shape[0], shape[1]},
                              .channels = shape[2],
                              .shuffle = options.shuffle,
                              .seed = options.seed,
                              .limit = options.limit};
  const std::filesystem::path root(directory);
  require<InputError>(std::filesystem::is_directory(root), "--data images:{}: there is no such folder", directory);
  const FolderParts parts = parts_of(root);
  const ImageDirectory train = image_dataset_from_directory(parts.train, files);
  const Rescaling& chosen = rescaling_named(options.rescaling);
  const RowTransform prepare = preparation_of(chosen, DType::f32);
  DataOptions read_in_order = options;  // the files are shuffled already
  read_in_order.shuffle = false;
  TrainingData data{.name = root.filename().string(),
                    .preparation = text_of(chosen),
                    .form = {shape, static_cast<std::int64_t>(train.class_names.size())},
                    .train = training_batches(train.dataset, prepare, read_in_order),
                    .test = std::nullopt,
                    .train_examples = count_of(train.dataset),
                    .class_names = train.class_names,
                    .train_files = train.files};
  files.shuffle = false;
  files.limit = options.limit_test;
  if (!parts.test) return data;
  const ImageDirectory test = image_dataset_from_directory(*parts.test, files);
  require<InputError>(test.class_names == train.class_names,
                      "--data images:{}: '{}' and 'train' must have the same folders, one for each class", directory,
                      parts.test->filename().string());
  data.test = test_batches(test.dataset, prepare, options);
  data.test_examples = count_of(test.dataset);
  data.test_files = test.files;
  return data;
}

}  // namespace

std::vector<std::string> rescaling_names() {
  std::vector<std::string> names;
  for (const Rescaling& each : rescalings) names.emplace_back(each.name);
  return names;
}

std::string data_names() {
  return "fashion-mnist[:DIR], cifar10:DIR, hdf5:FILE (x_train and y_train, optionally x_test and y_test; x_test and "
         "y_test are enough to evaluate, x_test to predict), images:DIR (a folder of images for each class, or such "
         "folders in train and in test, val, valid or validation) or synthetic[:N]";
}

TrainingData load_data(const DataOptions& options, const ModelInput& model) {
  const std::size_t colon = options.source.find(':');
  const std::string kind = options.source.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : options.source.substr(colon + 1);
  require(!options.augment || (model.images && kind != "synthetic"), "--augment changes images; {} has none",
          kind == "synthetic" ? "--data synthetic" : "the data of this --model");
  require(options.rescaling == "none" || kind == "hdf5" || kind == "images",
          "--rescaling is for --data hdf5 and images; {} is prepared in its own way", kind);
  if (kind == "synthetic") return make_synthetic(rest, options, model);
  if (kind == "hdf5") return load_hdf5(rest, options, model);
  require(kind == "fashion-mnist" || kind == "cifar10" || kind == "images", "--data '{}' is not known; choose {}{}",
          options.source, data_names(), suggestion(kind, {"fashion-mnist", "cifar10", "hdf5", "images", "synthetic"}));
  require(model.images,
          "--data {}, of images, does not suit this --model, which takes {}; use --data synthetic "
          "or hdf5",
          kind, model.form.shape);
  if (kind == "images") return load_folder(rest, options, model);
  require(
      model.any_size || model.form.shape == small_images.shape,
      "--data {}, of images of {}, does not suit this --model, which takes {}; use --data images, hdf5 or synthetic",
      kind, small_images.shape, model.form.shape);
  require(model.smallest_side <= small_images.shape[0],
          "--data {}, of images of 32 x 32, does not suit this --model, which takes larger "
          "ones; use --data images or synthetic",
          kind);
  return kind == "cifar10" ? load_cifar(rest, options) : load_fashion(rest, options);
}

}  // namespace lockstep::cli
