#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include <lockstep/runtime/data/dataset.h>

namespace lockstep {

/// Converts a line of text to a tensor, such as the ids of its characters or tokens. Must be thread-safe.
using LineEncoder = std::function<Tensor(std::string_view line)>;

/// text_line_dataset's options.
struct TextLineOptions {
  /// Reads the lines of all files in a new order in each epoch, but `take` and `skip` select the same lines in every
  /// epoch.
  bool shuffle = false;
  std::uint64_t seed = 0;  ///< seed of the shuffle
};

/// A data set of the lines of text files, like tf.data's TextLineDataset: the input of example i is encode(line i), and
/// there is no target. Lines end with a line feed, which may follow a carriage return; `encode` gets them without their
/// ends. Empty lines are examples, too. The call only scans the files for the positions of lines. Lines are read when
/// they are needed, on all threads of the reader, so files may be larger than memory. A file compressed by gzip is
/// decompressed into memory. Throws InvalidArgument for an empty function, and InputError naming the file when it is
/// missing or its compressed data are damaged. Reading the data set throws InputError for a file that has become
/// shorter. It also passes on the errors of `encode`, with the file and the number of the line (from 1) in the message:
/// a lockstep::Error keeps its type, any other exception is nested in an InputError.
Dataset text_line_dataset(const std::vector<std::filesystem::path>& files, LineEncoder encode,
                          const TextLineOptions& options = {});

/// A transform for Dataset::map over windows of ids: x becomes the window (n + 1, ...) without its last step, and y the
/// same window without its first step. From these, a language model learns to predict the next id at each step. Throws
/// InvalidArgument for windows of fewer than two steps.
/// timeseries_dataset_from_array(ids, {}, n + 1, {.sequence_stride = n}).map(split_input_target) has consecutive
/// windows of n steps.
Example split_input_target(const Example& window);

}  // namespace lockstep
