#include "lockstep/models/data/image_directory.h"

#include <memory>

#include <lockstep/models/data/example_numbers.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/models/data/image_listing.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {

ImageDirectory image_dataset_from_directory(const std::filesystem::path& directory,
                                            const ImageDirectoryOptions& options) {
  check_options(options);
  check_directory(directory);
  std::vector<std::string> class_names = class_names_in(directory);
  std::vector<std::filesystem::path> all;
  std::vector<std::int32_t> all_labels;
  for (std::size_t label = 0; label < class_names.size(); ++label) {
    // A folder without files is a class without examples, as in Keras.
    const std::vector<std::filesystem::path> of_class = images_in(directory / class_names[label]);
    all.insert(all.end(), of_class.begin(), of_class.end());
    all_labels.resize(all.size(), static_cast<std::int32_t>(label));
  }
  require<InputError>(!all.empty(), "{}: has no .jpg, .jpeg, .png or .bmp files in a folder for each class",
                      directory.string());

  const auto files = std::make_shared<std::vector<std::filesystem::path>>();
  std::vector<std::int32_t> labels;
  for (const std::size_t index : selected_files(all.size(), options, directory)) {
    files->push_back(std::move(all[index]));
    labels.push_back(all_labels[index]);
  }
  const ContextScope host(detail::host_context());
  const Tensor classes = Tensor::from(labels, {static_cast<std::int64_t>(labels.size())});
  const Dataset names = example_numbers(files->size(), options.shuffle, options.seed, classes);
  Dataset images = names.map([files, options](const Example& name) {
    const auto index = static_cast<std::size_t>(name.x().item<std::int64_t>());
    return name.with_x(resize_bilinear(read_image((*files)[index], options.channels), options.image_size));
  });
  return {std::move(images), std::move(class_names), *files, classes};
}

}  // namespace lockstep
