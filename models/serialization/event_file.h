#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Writes an event file for TensorBoard: a sequence of TFRecords that hold TensorBoard's `Event` messages. The file is
/// only appended to, so that it stays readable even if the program is killed. Every function throws InputError, naming
/// the file or directory, if it cannot be written. Not thread-safe.
class EventFile {
 public:
  /// Creates a new file in `directory`, and the directory if needed. TensorBoard calls such a directory a run.
  explicit EventFile(const std::string& directory);

  /// Adds a point, stored as f32, to the curve `tag`.
  void add_scalar(const std::string& tag, std::int64_t step, double value);
  /// Adds a histogram of `values` with 30 buckets of equal width from the smallest to the largest value (one bucket if
  /// all values are equal). Ignores values that are not finite.
  void add_histogram(const std::string& tag, std::int64_t step, std::span<const float> values);
  /// Adds the network's graph: its inputs and calls of layers, with their shapes, numbers of parameters and devices.
  void add_graph(const Network& network);
  /// Passes buffered events to the operating system.
  void flush();

 private:
  /// `event` is a serialized Event.
  void write_record(const std::string& event);

  std::string path_;
  std::ofstream file_;
};

}  // namespace lockstep
