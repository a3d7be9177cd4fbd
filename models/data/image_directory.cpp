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

/// Keeps `limit` randomly chosen files and their labels, in their order.
void limit_files(Paths& files, std::vector<std::int32_t>& labels, std::int64_t limit, std::uint64_t seed) {
  require(limit >= 1, "the number of images must be at least 1, got {}", limit);
  std::vector<std::size_t> drawn(files.size());
  std::iota(drawn.begin(), drawn.end(), 0);
  if (drawn.size() <= static_cast<std::size_t>(limit)) return;
  const Tensor numbers =
      Tensor::from(std::vector<std::int64_t>(drawn.begin(), drawn.end()), {static_cast<std::int64_t>(drawn.size())});
  drawn.clear();
  for (const Example& number : Dataset::from_tensors(numbers).shuffle({.seed = seed}).take(limit).epoch())
    drawn.push_back(static_cast<std::size_t>(number.x().item<std::int64_t>()));
  std::sort(drawn.begin(), drawn.end());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    files[i] = files[drawn[i]];
    labels[i] = labels[drawn[i]];
  }
  files.resize(drawn.size());
  labels.resize(drawn.size());
}

}  // namespace

ImageDirectory image_dataset_from_directory(const std::filesystem::path& directory,
                                            const ImageDirectoryOptions& options) {
  const ImageSize size = options.image_size;
  require(size.height >= 1 && size.width >= 1, "the image size must be at least 1 x 1, got {} x {}", size.height,
          size.width);
  require(options.channels == 1 || options.channels == 3, "images are read with 1 or 3 channels, not {}",
          options.channels);
  std::error_code error;
  require<InputError>(std::filesystem::is_directory(directory, error), "{}: no such directory", directory.string());

  std::vector<std::string> class_names = class_names_in(directory);
  const auto files = std::make_shared<Paths>();
  std::vector<std::int32_t> labels;
  for (std::size_t label = 0; label < class_names.size(); ++label) {
    const Paths of_class = images_in(directory / class_names[label]);
    files->insert(files->end(), of_class.begin(), of_class.end());
    labels.resize(files->size(), static_cast<std::int32_t>(label));
  }
  require<InputError>(!files->empty(), "{}: has no .jpg, .jpeg, .png or .bmp files in a folder for each class",
                      directory.string());

  if (options.limit) limit_files(*files, labels, *options.limit, options.seed);
  const auto count = static_cast<std::int64_t>(files->size());
  std::vector<std::int64_t> indices(files->size());
  for (std::int64_t i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
  Dataset names = Dataset::from_tensors(Tensor::from(indices, {count}), Tensor::from(labels, {count}));
  if (options.shuffle) names = names.shuffle({.seed = options.seed, .fixed_parts = true});
  Dataset images = names.map([files, size, channels = options.channels](const Example& name) {
    const auto index = static_cast<std::size_t>(name.x().item<std::int64_t>());
    return name.with_x(resize_bilinear(read_image((*files)[index], channels), size));
  });
  return {std::move(images), std::move(class_names), *files};
}

}  // namespace lockstep
