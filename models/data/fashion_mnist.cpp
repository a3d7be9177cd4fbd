#include "lockstep/models/data/fashion_mnist.h"

#include <algorithm>
#include <span>
#include <string>

#include <lockstep/models/data/idx.h>

namespace lockstep {
namespace {

constexpr std::int64_t image_size = 28;
constexpr std::uint8_t last_label = 9;

std::filesystem::path find_file(const std::filesystem::path& directory, const std::string& name) {
  std::error_code error;  // files that cannot be accessed count as missing
  for (const char* suffix : {".gz", ""})
    if (std::filesystem::path file = directory / (name + suffix); std::filesystem::exists(file, error)) return file;
  fail<InputError>(
      "{}: no such file; install the Debian package dataset-fashion-mnist, or name the directory that has it",
      (directory / (name + ".gz")).string());
}

void require_directory(const std::filesystem::path& directory) {
  std::error_code error;
  require<InputError>(std::filesystem::is_directory(directory, error),
                      "{}: no such directory; the Debian package dataset-fashion-mnist installs the data in {}",
                      directory.string(), FashionMnistOptions{}.directory.string());
}

void check_labels(const Tensor& labels, const std::filesystem::path& file) {
  const std::span<const std::uint8_t> values = labels.span<std::uint8_t>();
  const auto wrong = std::find_if(values.begin(), values.end(), [](std::uint8_t label) { return label > last_label; });
  require<InputError>(wrong == values.end(), "{}: label {} is {}, labels are 0 to {}", file.string(),
                      wrong - values.begin(), wrong == values.end() ? 0 : *wrong, last_label);
}

}  // namespace

Example load_fashion_mnist(const FashionMnistOptions& options) {
  require(options.limit.value_or(1) >= 1, "the number of examples must be at least 1, got {}",
          options.limit.value_or(1));
  require_directory(options.directory);
  const std::string name = options.split == Split::train ? "train" : "t10k";
  const std::filesystem::path image_file = find_file(options.directory, name + "-images-idx3-ubyte");
  const std::filesystem::path label_file = find_file(options.directory, name + "-labels-idx1-ubyte");
  const Tensor labels = read_idx(label_file, 1);
  check_labels(labels, label_file);
  const Tensor images = read_idx(image_file, 3);
  require<InputError>(images.dim(1) == image_size && images.dim(2) == image_size,
                      "{}: has images of {} x {} pixels instead of {} x {}", image_file.string(), images.dim(1),
                      images.dim(2), image_size, image_size);
  require<InputError>(images.dim(0) == labels.dim(0), "{} has {} images, {} has {} labels", image_file.string(),
                      images.dim(0), label_file.string(), labels.dim(0));
  require<InputError>(images.dim(0) > 0, "{}: has no images", image_file.string());
  const std::int64_t count = std::min(images.dim(0), options.limit.value_or(images.dim(0)));
  return {{images.slice_view(0, 0, count)}, {labels.slice_view(0, 0, count)}};
}

}  // namespace lockstep
