#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// A file of events that TensorBoard shows: TFRecords of its `Event` messages. It grows while it is shown, so what has
/// been written stays readable whenever a program ends. Every function throws InputError naming the file and the
/// reason when it cannot be written. For one thread.
class EventFile {
 public:
  /// Makes a new file in `directory`, and the directory where there is none; `directory` is what TensorBoard calls a
  /// run.
  explicit EventFile(const std::string& directory);

  /// A point of the curve `tag`.
  void add_scalar(const std::string& tag, std::int64_t step, double value);
  /// How `values` are distributed, in 30 buckets of one width from the smallest to the largest. Those that are not
  /// finite are left out.
  void add_histogram(const std::string& tag, std::int64_t step, std::span<const float> values);
  /// The network's inputs and calls of layers, with their shapes, parameters and devices.
  void add_graph(const Network& network);
  /// Hands what has been written to the system.
  void flush();

 private:
  /// `event` is a serialized Event.
  void write_record(const std::string& event);

  std::string path_;
  std::ofstream file_;
};

}  // namespace lockstep
