#include "lockstep/models/data/image_listing.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <system_error>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/lower_case.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

using Paths = std::vector<std::filesystem::path>;

bool is_image(const std::filesystem::path& file) {
  const std::string extension = lower_case(file.extension().string());
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

/// The indices 0 to count - 1 in an order that depends on the seed.
std::vector<std::size_t> shuffled_indices(std::size_t count, std::uint64_t seed) {
  const ContextScope host(detail::host_context());
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor rows = Tensor::from(numbers, {static_cast<std::int64_t>(count)});
  std::vector<std::size_t> indices;
  for (const Example& row : Dataset::from_tensors(rows).shuffle({.seed = seed}).epoch())
    indices.push_back(static_cast<std::size_t>(row.x().item<std::int64_t>()));
  return indices;
}

/// The sorted indices of `limit` randomly chosen files out of `count`.
std::vector<std::size_t> limited(std::size_t count, std::int64_t limit, std::uint64_t seed) {
  require(limit >= 1, "the number of images must be at least 1, got {}", limit);
  std::vector<std::size_t> drawn = shuffled_indices(count, seed);
  drawn.resize(std::min(count, static_cast<std::size_t>(limit)));
  std::ranges::sort(drawn);
  return drawn;
}

std::vector<std::size_t> all_indices(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// The places from 0 to count - 1 that belong to options.subset.
std::vector<std::size_t> places_in_subset(std::size_t count, const ImageDirectoryOptions& options) {
  std::vector<std::size_t> order = options.shuffle ? shuffled_indices(count, options.seed) : all_indices(count);
  const auto validation = static_cast<std::size_t>(*options.validation_split * static_cast<double>(count));
  const auto border = order.end() - static_cast<std::ptrdiff_t>(validation);
  if (options.subset == Subset::training)
    order.erase(border, order.end());
  else
    order.erase(order.begin(), border);
  std::ranges::sort(order);
  return order;
}

}  // namespace

void check_options(const ImageDirectoryOptions& options) {
  const ImageSize size = options.image_size;
  require(size.height >= 1 && size.width >= 1, "the image size must be at least 1 x 1, got {} x {}", size.height,
          size.width);
  require(options.channels == 1 || options.channels == 3, "images are read with 1 or 3 channels, not {}",
          options.channels);
  const double split = options.validation_split.value_or(0.5);
  require(split > 0 && split < 1, "validation_split must be between 0 and 1, got {}", split);
  require(options.validation_split.has_value() == options.subset.has_value(),
          "validation_split and subset must be given together");
}

void check_directory(const std::filesystem::path& directory) {
  std::error_code error;
  require<InputError>(std::filesystem::is_directory(directory, error), "{}: no such directory", directory.string());
}

std::vector<std::string> class_names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for_each_entry<std::filesystem::directory_iterator>(directory, [&](const auto& entry) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.')) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::filesystem::path> images_in(const std::filesystem::path& directory) {
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

std::vector<std::size_t> selected_files(std::size_t count, const ImageDirectoryOptions& options,
                                        const std::filesystem::path& directory) {
  std::vector<std::size_t> files = options.limit ? limited(count, *options.limit, options.seed) : all_indices(count);
  if (!options.subset) return files;
  std::vector<std::size_t> part = places_in_subset(files.size(), options);
  require<InputError>(!part.empty(), "{}: a validation_split of {} of {} image(s) leaves a part without images",
                      directory.string(), *options.validation_split, files.size());
  for (std::size_t& place : part) place = files[place];
  return part;
}

}  // namespace lockstep
