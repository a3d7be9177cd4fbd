#pragma once

#include <filesystem>
#include <vector>

#include <lockstep/models/data/image_directory.h>
#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// image_mask_dataset_from_directories' result.
struct ImageMaskDirectories {
  Dataset dataset;                                 ///< single images and their masks, not batched
  std::vector<std::filesystem::path> image_files;  ///< images in use, sorted
  std::vector<std::filesystem::path> mask_files;   ///< [i]: the mask of image i
};

/// Reads images and their masks, for networks that classify each pixel. The mask of images/NAME.jpg is masks/NAME.png;
/// NAME may contain folders, e.g. "berlin/0001". Images are files of the types that image_dataset_from_directory reads.
/// An element is an image, x (height, width, channels) f32 in 0..255, resized by resize_bilinear, and its mask, y
/// (height, width) u8 with the number of each pixel's class, read by read_mask and resized to the nearest pixel. Random
/// transforms with the option `mask` move both (image_augmentation.h). Files are selected, split and shuffled by the
/// options as in image_dataset_from_directory; `limit` draws from all images. Throws InvalidArgument for the same
/// options as that function. Throws InputError for a missing directory, no images, an image without a mask, a mask
/// without an image, two files whose names differ only in their extensions, a GIF image, and a part of a split without
/// images; the message names the directory or the files. Reading the data set throws the errors of read_image and
/// read_mask, and InputError for a mask of another size than its image.
ImageMaskDirectories image_mask_dataset_from_directories(const std::filesystem::path& images,
                                                         const std::filesystem::path& masks,
                                                         const ImageDirectoryOptions& options = {});

}  // namespace lockstep
