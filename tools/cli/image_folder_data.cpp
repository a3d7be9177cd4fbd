#include "image_folder_data.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/models/data/image_directory.h>

#include "data_pipeline.h"

namespace lockstep::cli {
namespace {

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

/// The test images: those of the test folder or those that `training` leaves out, if there are any.
std::optional<ImageDirectory> test_images(const FolderParts& parts, const ImageDirectoryOptions& training,
                                          const DataOptions& options) {
  ImageDirectoryOptions files = training;
  if (training.validation_split) {
    files.subset = Subset::validation;
    return image_dataset_from_directory(parts.train, files);
  }
  if (!parts.test) return std::nullopt;
  files.shuffle = false;
  files.limit = options.limit_test;
  return image_dataset_from_directory(*parts.test, files);
}

RowNames names_of(const std::vector<std::filesystem::path>& files) {
  RowNames rows{.column = "file"};
  for (const std::filesystem::path& file : files) rows.names.push_back(file.string());
  return rows;
}

}  // namespace

TrainingData load_folder(const std::string& directory, const DataOptions& options, const ModelInput& model) {
  require(!directory.empty(), "--data images:DIR needs a folder that contains one folder of images per class");
  const Shape& shape = model.form.shape;
  const std::filesystem::path root(directory);
  std::error_code error;  // of names that are too long and the like
  require<InputError>(std::filesystem::is_directory(root, error), "--data images:{}: there is no such folder",
                      directory);
  const FolderParts parts = parts_of(root);
  require(!options.validation_split || !parts.test,
          "--validation-split: --data images:{} already has test examples ('{}')", directory,
          parts.test.value_or("").filename().string());
  ImageDirectoryOptions files{.image_size = {shape[0], shape[1]},
                              .channels = shape[2],
                              .shuffle = options.shuffle,
                              .seed = options.seed,
                              .limit = options.limit,
                              .validation_split = options.validation_split};
  if (options.validation_split) files.subset = Subset::training;
  const ImageDirectory train = image_dataset_from_directory(parts.train, files);
  const Rescaling& chosen = rescaling_named(options.rescaling);
  const RowTransform prepare = preparation_of(chosen, DType::f32);
  DataOptions read_in_order = options;  // the files are shuffled already
  read_in_order.shuffle = false;
  TrainingData data{.name = (root / "").parent_path().filename().string(),  // also of DIR/
                    .preparation = text_of(chosen),
                    .form = {shape, static_cast<std::int64_t>(train.class_names.size())},
                    .train = training_batches(train.dataset, prepare, read_in_order),
                    .train_examples = count_of(train.dataset),
                    .train_targets = Dataset::from_tensors(train.labels),
                    .class_names = train.class_names,
                    .train_rows = names_of(train.files)};
  const std::optional<ImageDirectory> test = test_images(parts, files, options);
  if (!test) return data;
  require<InputError>(test->class_names == train.class_names,
                      "--data images:{}: '{}' and 'train' must have the same folders, one for each class", directory,
                      parts.test.value_or("").filename().string());
  const Dataset examples = limited(test->dataset, options.limit_test);
  data.test = test_batches(examples, prepare, options);
  data.test_examples = count_of(examples);
  data.test_rows = names_of(test->files);
  return data;
}

}  // namespace lockstep::cli
