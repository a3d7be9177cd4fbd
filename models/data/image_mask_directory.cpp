#include "lockstep/models/data/image_mask_directory.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <lockstep/kernels/image/resize.h>
#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/models/data/image_listing.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

/// The files of an image and its mask.
struct FilePair {
  std::filesystem::path image;
  std::filesystem::path mask;
};

/// The image files of a directory by their paths in it, without extensions.
std::map<std::string, std::filesystem::path> files_by_name(const std::filesystem::path& directory) {
  std::map<std::string, std::filesystem::path> files;
  for (const std::filesystem::path& file : images_in(directory)) {
    std::filesystem::path name = file.lexically_relative(directory);
    const auto [place, is_new] = files.emplace(name.replace_extension().string(), file);
    require<InputError>(is_new, "{}: {} has the same name", file.string(), place->second.filename().string());
  }
  return files;
}

std::vector<FilePair> pairs_of(const std::filesystem::path& images, const std::filesystem::path& masks) {
  std::map<std::string, std::filesystem::path> masks_by_name = files_by_name(masks);
  std::vector<FilePair> pairs;
  for (const auto& [name, image] : files_by_name(images)) {
    const auto mask = masks_by_name.extract(name);
    require<InputError>(!mask.empty(), "{}: has no mask {}.png", image.string(), (masks / name).string());
    pairs.push_back({image, mask.mapped()});
  }
  if (!masks_by_name.empty())
    fail<InputError>("{}: has no image {}", masks_by_name.begin()->second.string(),
                     (images / masks_by_name.begin()->first).string());
  require<InputError>(!pairs.empty(), "{}: has no .jpg, .jpeg, .png or .bmp files", images.string());
  return pairs;
}

Example read_pair(const FilePair& files, const ImageDirectoryOptions& options) {
  const Tensor image = read_image(files.image, options.channels);
  const Tensor mask = read_mask(files.mask);
  require<InputError>(mask.dim(0) == image.dim(0) && mask.dim(1) == image.dim(1),
                      "{}: the mask has {} x {} pixels, its image {} x {}", files.mask.string(), mask.dim(0),
                      mask.dim(1), image.dim(0), image.dim(1));
  const auto [height, width] = options.image_size;
  const Tensor resized = resize(mask, {height, width}, {.interpolation = Interpolation::nearest});
  return {{resize_bilinear(image, options.image_size)}, {resized.view({height, width})}};
}

}  // namespace

ImageMaskDirectories image_mask_dataset_from_directories(const std::filesystem::path& images,
                                                         const std::filesystem::path& masks,
                                                         const ImageDirectoryOptions& options) {
  check_options(options);
  check_directory(images);
  check_directory(masks);
  std::vector<FilePair> all = pairs_of(images, masks);
  const auto pairs = std::make_shared<std::vector<FilePair>>();
  for (const std::size_t index : selected_files(all.size(), options, images)) pairs->push_back(std::move(all[index]));
  const Dataset names = example_numbers(pairs->size(), options.shuffle, options.seed);
  ImageMaskDirectories result{names.map([pairs, options](const Example& name) {
                                return read_pair((*pairs)[static_cast<std::size_t>(name.x().item<std::int64_t>())],
                                                 options);
                              }),
                              {},
                              {}};
  for (const FilePair& pair : *pairs) {
    result.image_files.push_back(pair.image);
    result.mask_files.push_back(pair.mask);
  }
  return result;
}

}  // namespace lockstep
