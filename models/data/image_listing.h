#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/models/data/image_directory.h>

// Functions shared by the data sets of image folders.

namespace lockstep {

/// Throws InvalidArgument for the options that image_dataset_from_directory refuses, except a limit below 1, which
/// selected_files checks.
void check_options(const ImageDirectoryOptions& options);

/// Throws InputError unless this is a directory.
void check_directory(const std::filesystem::path& directory);

/// Sorted names of the folders of a directory. Skips folders whose names begin with a dot, as Keras does.
std::vector<std::string> class_names_in(const std::filesystem::path& directory);

/// Sorted image files of a directory and the folders below it. Empty for a directory without files. Throws InputError
/// for a directory that only has files of other types, and for a GIF file.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& directory);

/// The sorted indices, in 0 .. count - 1, of the files that options.limit and options.subset select. With
/// options.shuffle, the files for validation are drawn at random; without, they are the last files. Throws
/// InvalidArgument for a limit below 1, and InputError naming the directory if a part has no files.
std::vector<std::size_t> selected_files(std::size_t count, const ImageDirectoryOptions& options,
                                        const std::filesystem::path& directory);

}  // namespace lockstep
