// Images per second of reading a folder of JPEG or PNG files into batches: decoding, resizing, stacking.
// bench/peers/run_data compares it with PyTorch's DataLoader and with tf.data.

#include <chrono>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <lockstep/bench/benchmark_program.h>
#include <lockstep/models/data/image_directory.h>
#include <lockstep/runtime/thread/parallel.h>

namespace {

struct Options {
  std::string directory;
  int workers = 2;
  std::int64_t image_size = 224;
  std::int64_t batch_size = 32;
  int epochs = 3;  ///< after one that is not measured
};

/// Reads one epoch; returns the number of images.
std::int64_t read_epoch(const lockstep::Dataset& batches, int epoch) {
  std::int64_t images = 0;
  for (const lockstep::Batch& batch : batches.epoch(static_cast<std::uint64_t>(epoch))) images += batch.size();
  return images;
}

void report(const Options& options) {
  const lockstep::ComputeThreadsScope share(options.workers);
  const lockstep::Dataset batches = lockstep::image_dataset_from_directory(
                                        options.directory, {.image_size = {options.image_size, options.image_size}})
                                        .dataset.batch(options.batch_size);
  read_epoch(batches, 0);
  const auto start = std::chrono::steady_clock::now();
  std::int64_t images = 0;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) images += read_epoch(batches, epoch);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"per_s\": {:.1f}, \"count\": {}}}\n", static_cast<double>(images) / time.count(),
             images / options.epochs);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Reads a folder of images over and over; prints one JSON object", "image_directory_bench");
  app.add_option("directory", options.directory, "folder with a subfolder for each class")->required();
  app.add_option("--workers", options.workers, "threads")->check(CLI::PositiveNumber);
  app.add_option("--image-size", options.image_size, "height and width after resizing")->check(CLI::PositiveNumber);
  app.add_option("--batch-size", options.batch_size)->check(CLI::PositiveNumber);
  app.add_option("--epochs", options.epochs, "measured epochs")->check(CLI::PositiveNumber);
  return lockstep::run_benchmark_program(app, argc, argv, [&] { report(options); });
}
