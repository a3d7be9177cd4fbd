#include "lockstep/models/data/image_directory.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <numeric>
#include <system_error>

#include <lockstep/models/data/image_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Paths = std::vector<std::filesystem::path>;

bool is_image(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  for (char& letter : extension) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  require<InputError>(extension != ".gif", "{}: GIF images are not read; convert it to PNG", file.string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" || extension == ".bmp";
}

/// Calls visit(entry) for all entries that `Iterator` lists in a directory.
template <class Iterator, class Visit>
void for_each_entry(const std::filesystem::path& directory, Visit&& visit) {
  try {
    for (const std::filesystem::directory_entry& entry : Iterator(directory)) visit(entry);
  } catch (const std::filesystem::filesystem_error& error) {
    fail<InputError>("{}: cannot be listed: {}", directory.string(), error.code().message());
  }
}

/// Sorted names of the class folders. Skips folders whose names begin with a dot, as Keras does.
std::vector<std::string> class_names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for_each_entry<std::filesystem::directory_iterator>(directory, [&](const auto& entry) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.')) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

/// Sorted image files of a class. A folder without files is a class without examples, as in Keras; a folder that only
/// has files of other types is an error.
Paths images_in(const std::filesystem::path& directory) {
  Paths files;
  std::string other;
  for_each_entry<std::filesystem::recursive_directory_iterator>(directory, [&](const auto& entry) {
    if (!entry.is_regular_file()) return;
    if (is_image(entry.path()))
      files.push_back(entry.path());
    else
      other = entry.path().filename().string();
  });
  require<InputError>(!files.empty() || other.empty(), "{}: has no .jpg, .jpeg, .png or .bmp files, but {}",
                      directory.string(), other);
  std::sort(files.begin(), files.end());
  return files;
}

struct Files {
  Paths paths{};
  std::vector<std::int32_t> labels{};
};

/// The files at `indices`, in the order in which they are in `files`.
Files selected(const Files& files, std::vector<std::size_t> indices) {
  std::ranges::sort(indices);
  Files part;
  for (const std::size_t index : indices) {
    part.paths.push_back(files.paths[index]);
    part.labels.push_back(files.labels[index]);
  }
  return part;
}

/// 0 .. count - 1 in an order that depends on the seed.
std::vector<std::size_t> shuffled_indices(std::size_t count, std::uint64_t seed) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor rows = Tensor::from(numbers, {static_cast<std::int64_t>(count)});
  std::vector<std::size_t> indices;
  for (const Example& row : Dataset::from_tensors(rows).shuffle({.seed = seed}).epoch())
    indices.push_back(static_cast<std::size_t>(row.x().item<std::int64_t>()));
  return indices;
}

/// Keeps `limit` randomly chosen files.
Files limited_files(const Files& files, std::int64_t limit, std::uint64_t seed) {
  require(limit >= 1, "the number of images must be at least 1, got {}", limit);
  std::vector<std::size_t> drawn = shuffled_indices(files.paths.size(), seed);
  drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(limit)));
  return selected(files, std::move(drawn));
}

/// The files of options.subset: the validation part is the end of all files, in a random order if they are shuffled.
Files subset_of(const Files& files, const ImageDirectoryOptions& options) {
  const std::size_t count = files.paths.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (options.shuffle) order = shuffled_indices(count, options.seed);
  const auto validation = static_cast<std::size_t>(*options.validation_split * static_cast<double>(count));
  const auto border = order.end() - static_cast<std::ptrdiff_t>(validation);
  if (options.subset == Subset::training)
    order.erase(border, order.end());
  else
    order.erase(order.begin(), border);
  return selected(files, std::move(order));
}

}  // namespace

ImageDirectory image_dataset_from_directory(const std::filesystem::path& directory,
                                            const ImageDirectoryOptions& options) {
  const ImageSize size = options.image_size;
  require(size.height >= 1 && size.width >= 1, "the image size must be at least 1 x 1, got {} x {}", size.height,
          size.width);
  require(options.channels == 1 || options.channels == 3, "images are read with 1 or 3 channels, not {}",
          options.channels);
  const double split = options.validation_split.value_or(0.5);
  require(split > 0 && split < 1, "validation_split must be between 0 and 1, got {}", split);
  require(options.validation_split.has_value() == options.subset.has_value(),
          "validation_split and subset must be given together");
  std::error_code error;
  require<InputError>(std::filesystem::is_directory(directory, error), "{}: no such directory", directory.string());

  std::vector<std::string> class_names = class_names_in(directory);
  Files all;
  for (std::size_t label = 0; label < class_names.size(); ++label) {
    const Paths of_class = images_in(directory / class_names[label]);
    all.paths.insert(all.paths.end(), of_class.begin(), of_class.end());
    all.labels.resize(all.paths.size(), static_cast<std::int32_t>(label));
  }
  require<InputError>(!all.paths.empty(), "{}: has no .jpg, .jpeg, .png or .bmp files in a folder for each class",
                      directory.string());

  if (options.limit) all = limited_files(all, *options.limit, options.seed);
  if (options.subset) {
    const std::size_t before = all.paths.size();
    all = subset_of(all, options);
    require<InputError>(!all.paths.empty(), "{}: a validation_split of {} of {} image(s) leaves a part without images",
                        directory.string(), split, before);
  }
  const auto files = std::make_shared<const Paths>(std::move(all.paths));
  const auto count = static_cast<std::int64_t>(files->size());
  std::vector<std::int64_t> indices(files->size());
  std::iota(indices.begin(), indices.end(), 0);
  const Tensor labels = Tensor::from(all.labels, {count});
  Dataset names = Dataset::from_tensors(Tensor::from(indices, {count}), labels);
  if (options.shuffle) names = names.shuffle({.seed = options.seed, .fixed_parts = true});
  Dataset images = names.map([files, size, channels = options.channels](const Example& name) {
    const auto index = static_cast<std::size_t>(name.x().item<std::int64_t>());
    return name.with_x(resize_bilinear(read_image((*files)[index], channels), size));
  });
  return {std::move(images), std::move(class_names), *files, labels};
}

}  // namespace lockstep
