#include "lockstep/models/data/cifar.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>

namespace lockstep {
namespace {

constexpr std::int64_t side = 32;
constexpr std::int64_t pixels = side * side;
constexpr std::int64_t channels = 3;

/// A record consists of label bytes and the red, the green and the blue plane.
struct Layout {
  std::string folder;  ///< created by unpacking the archive
  std::vector<std::string> files;
  std::int64_t records_of_file;
  std::size_t label_bytes;
  std::size_t label;  ///< index of the label byte to use
  std::uint8_t last_label;
};

/// Whether the path exists; false if this cannot be determined.
bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::filesystem::path find_file(const std::filesystem::path& directory, const Layout& layout, const std::string& name) {
  for (const std::filesystem::path& place : {directory / layout.folder, directory})
    for (const char* suffix : {"", ".gz"})
      if (std::filesystem::path file = place / (name + suffix); is_there(file)) return file;
  fail<InputError>(
      "{}: no such file, and none in {} there; https://www.cs.toronto.edu/~kriz/cifar.html has the archive",
      (directory / name).string(), layout.folder);
}

void interleave(const std::byte* planes, std::uint8_t* to) {
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
    for (std::int64_t channel = 0; channel < channels; ++channel)
      *to++ = std::to_integer<std::uint8_t>(planes[channel * pixels + pixel]);
}

/// Reads the first labels.size() records of a file.
void read_records(const std::filesystem::path& file, const Layout& layout, std::span<std::uint8_t> images,
                  std::span<std::uint8_t> labels) {
  ByteReader reader(file);
  std::vector<std::byte> record(layout.label_bytes + pixels * channels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    require<InputError>(reader.read(record.data(), record.size()) == record.size(),
                        "{}: ends within record {} of {}, so it is cut short", file.string(), i,
                        layout.records_of_file);
    labels[i] = std::to_integer<std::uint8_t>(record[layout.label]);
    require<InputError>(labels[i] <= layout.last_label, "{}: label {} is {}, labels are 0 to {}", file.string(), i,
                        labels[i], layout.last_label);
    interleave(record.data() + layout.label_bytes, &images[i * pixels * channels]);
  }
  const bool whole = static_cast<std::int64_t>(labels.size()) == layout.records_of_file;
  if (whole) reader.require_end();
}

Example load(const std::filesystem::path& directory, const Layout& layout, std::optional<std::int64_t> limit) {
  require(limit.value_or(1) >= 1, "the number of examples must be at least 1, got {}", limit.value_or(1));
  require<InputError>(is_there(directory), "{}: no such directory; give the folder that contains {}",
                      directory.string(), layout.folder);
  const std::int64_t all = layout.records_of_file * static_cast<std::int64_t>(layout.files.size());
  const std::int64_t count = std::min(all, limit.value_or(all));
  const ContextScope host(detail::host_context());
  const Example set{{Tensor::empty({count, side, side, channels}, DType::u8)}, {Tensor::empty({count}, DType::u8)}};
  for (std::size_t i = 0; i < layout.files.size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * layout.records_of_file;
    if (begin >= count) break;
    const std::int64_t end = std::min(begin + layout.records_of_file, count);
    read_records(find_file(directory, layout, layout.files[i]), layout,
                 set.x().slice_view(0, begin, end).span<std::uint8_t>(),
                 set.y().slice_view(0, begin, end).span<std::uint8_t>());
  }
  return set;
}

}  // namespace

Example load_cifar10(const Cifar10Options& options) {
  Layout layout{.folder = "cifar-10-batches-bin",
                .files = {"test_batch.bin"},
                .records_of_file = 10'000,
                .label_bytes = 1,
                .label = 0,
                .last_label = 9};
  if (options.split == Split::train)
    layout.files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
  return load(options.directory, layout, options.limit);
}

Example load_cifar100(const Cifar100Options& options) {
  const bool train = options.split == Split::train;
  const bool fine = options.label_mode == Cifar100Labels::fine;
  const Layout layout{.folder = "cifar-100-binary",
                      .files = {train ? "train.bin" : "test.bin"},
                      .records_of_file = train ? 50'000 : 10'000,
                      .label_bytes = 2,
                      .label = fine ? 1U : 0U,
                      .last_label = static_cast<std::uint8_t>(fine ? 99 : 19)};
  return load(options.directory, layout, options.limit);
}

}  // namespace lockstep
