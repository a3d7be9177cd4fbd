// Rows per second of reading a CSV file with inferred types. bench/peers/run_data compares it with pandas and tf.data.

#include <chrono>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <lockstep/bench/benchmark_program.h>
#include <lockstep/models/data/csv_file.h>
#include <lockstep/runtime/thread/parallel.h>

namespace {

struct Options {
  std::string file;
  int workers = 2;
  int epochs = 3;  ///< after one that is not measured
};

void report(const Options& options) {
  const lockstep::ComputeThreadsScope share(options.workers);
  std::int64_t rows = 0;
  const auto read = [&] { rows += lockstep::read_csv(options.file).front().values.dim(0); };
  read();
  rows = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < options.epochs; ++epoch) read();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"per_s\": {:.1f}, \"count\": {}}}\n", static_cast<double>(rows) / time.count(), rows / options.epochs);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Reads a CSV file over and over; prints one JSON object", "csv_bench");
  app.add_option("file", options.file, "CSV file")->required();
  app.add_option("--workers", options.workers, "threads")->check(CLI::PositiveNumber);
  app.add_option("--epochs", options.epochs, "measured passes")->check(CLI::PositiveNumber);
  return lockstep::run_benchmark_program(app, argc, argv, [&] { report(options); });
}
