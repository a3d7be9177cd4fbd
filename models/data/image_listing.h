#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/models/data/image_directory.h>

// What data sets of folders of images have in common.

namespace lockstep {

/// Throws InvalidArgument for options that image_dataset_from_directory refuses.
void check_options(const ImageDirectoryOptions& options);

/// Throws InputError unless this is a directory.
void check_directory(const std::filesystem::path& directory);

/// Sorted names of the folders of a directory. Skips folders whose names begin with a dot, as Keras does.
std::vector<std::string> class_names_in(const std::filesystem::path& directory);

/// Sorted image files of a directory and the folders below it. Throws InputError for a directory that only has files of
/// other types; one without files gives none.
std::vector<std::filesystem::path> images_in(const std::filesystem::path& directory);

/// The sorted indices of the files, of `count`, that options.limit and options.subset select. The validation part is
/// the end of all files, in a random order if they are shuffled. Throws InputError, which names the directory, if it
/// selects none.
std::vector<std::size_t> selected_files(std::size_t count, const ImageDirectoryOptions& options,
                                        const std::filesystem::path& directory);

}  // namespace lockstep
