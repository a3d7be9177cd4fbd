#include "lockstep/models/serialization/event_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <vector>

#include <fmt/core.h>
#include <tensorboard.pb.h>
#include <unistd.h>

#include <lockstep/models/layers/naming.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/record.h>

namespace lockstep {
namespace {

constexpr std::size_t buckets = 30;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// A name that differs from the names of other processes' files and of this process' other files.
std::string new_file_name() {
  static std::atomic<int> files = 0;
  return fmt::format("events.out.tfevents.{}.{}.{}.{}.v2", static_cast<std::int64_t>(seconds_since_1970()), host_name(),
                     getpid(), files++);
}

tensorboard::Event event_at(std::int64_t step) {
  tensorboard::Event event;
  event.set_wall_time(seconds_since_1970());
  event.set_step(step);
  return event;
}

tensorboard::Summary::Value& add_value(tensorboard::Event& event, const std::string& tag, const char* plugin,
                                       tensorboard::SummaryMetadata::DataClass data_class) {
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  value.mutable_metadata()->set_data_class(data_class);
  return value;
}

struct Bucket {
  double left;
  double right;
  double count = 0;
};

std::vector<Bucket> histogram_of(std::span<const float> values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  std::int64_t finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
    ++finite;
  }
  if (finite == 0) return {};
  if (low == high) return {{low - 0.5, high + 0.5, static_cast<double>(finite)}};
  std::vector<Bucket> result;
  const double width = (high - low) / buckets;
  for (std::size_t i = 0; i < buckets; ++i)
    result.push_back({low + width * static_cast<double>(i), low + width * static_cast<double>(i + 1)});
  for (const float value : values)
    if (std::isfinite(value)) ++result[std::min(buckets - 1, static_cast<std::size_t>((value - low) / width))].count;
  return result;
}

void set_shape(tensorboard::NodeDef& node, const Shape& shape) {
  tensorboard::TensorShapeProto& all = *(*node.mutable_attr())["_output_shapes"].mutable_list()->add_shape();
  all.add_dim()->set_size(-1);  // the batch
  for (const std::int64_t size : shape) all.add_dim()->set_size(size);
}

/// The name of a layer's node. TensorBoard merges nodes whose names differ only in a number at the end, such as all
/// activations of a network, into one node with all their edges. To be drawn separately, a numbered layer gets a
/// trailing "_".
std::string node_name(const std::string& layer) {
  const bool is_numbered = !layer.empty() && std::isdigit(static_cast<unsigned char>(layer.back())) != 0;
  return is_numbered ? layer + "_" : layer;
}

/// The node name of each call: the layer's name, followed by "/call_N" from the layer's second call on. Result N of the
/// call NAME has the name "NAME:N".
std::vector<std::string> names_of_calls(const Network& network) {
  UniqueNames unique;
  for (const NetworkInput& input : network.inputs()) unique.take(input.name);
  std::map<int, int> made;
  std::vector<std::string> names;
  for (const GraphCall& call : network.calls()) {
    if (call.result > 0) {
      names.push_back(fmt::format("{}:{}", names[static_cast<std::size_t>(call.inputs[0])], call.result));
      continue;
    }
    const std::string layer = node_name(network.layers()[static_cast<std::size_t>(call.layer)].name());
    const int before = made[call.layer]++;
    names.push_back(unique.make(before == 0 ? layer : fmt::format("{}/call_{}", layer, before)));
  }
  return names;
}

tensorboard::GraphDef graph_of(const Network& network) {
  tensorboard::GraphDef graph;
  for (const NetworkInput& input : network.inputs()) {
    tensorboard::NodeDef& node = *graph.add_node();
    node.set_name(input.name);
    node.set_op("InputLayer");
    set_shape(node, input.shape);
  }
  const std::vector<std::string> names = names_of_calls(network);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const GraphCall& call = network.calls()[i];
    if (call.result > 0) continue;
    const LayerImpl& layer = network.layers()[static_cast<std::size_t>(call.layer)].impl();
    tensorboard::NodeDef& node = *graph.add_node();
    node.set_name(names[i]);
    node.set_op(std::string(layer.class_name()));
    for (const int source : call.inputs)
      node.add_input(source < 0 ? network.inputs()[static_cast<std::size_t>(-1 - source)].name
                                : names[static_cast<std::size_t>(source)]);
    if (call.device) node.set_device(call.device->name());
    (*node.mutable_attr())["parameters"].set_i(layer.count_params());
    set_shape(node, call.shape);
  }
  return graph;
}

}  // namespace

EventFile::EventFile(const std::string& directory)
    : path_((std::filesystem::path(directory) / new_file_name()).string()) {
  std::error_code problem;
  std::filesystem::create_directories(directory, problem);
  require<InputError>(!problem, "{}: cannot be made: {}", directory, problem.message());
  file_.open(path_, std::ios::binary);
  require<InputError>(file_.good(), "{}: cannot be written: {}", path_, std::strerror(errno));
  tensorboard::Event version = event_at(0);
  version.set_file_version("brain.Event:2");
  write_record(version.SerializeAsString());
  flush();
}

void EventFile::add_scalar(const std::string& tag, std::int64_t step, double value) {
  tensorboard::Event event = event_at(step);
  tensorboard::TensorProto& tensor =
      *add_value(event, tag, "scalars", tensorboard::SummaryMetadata::DATA_CLASS_SCALAR).mutable_tensor();
  tensor.set_dtype(tensorboard::DT_FLOAT);
  tensor.mutable_tensor_shape();
  tensor.add_float_val(static_cast<float>(value));
  write_record(event.SerializeAsString());
}

void EventFile::add_histogram(const std::string& tag, std::int64_t step, std::span<const float> values) {
  const std::vector<Bucket> all = histogram_of(values);
  tensorboard::Event event = event_at(step);
  tensorboard::TensorProto& tensor =
      *add_value(event, tag, "histograms", tensorboard::SummaryMetadata::DATA_CLASS_TENSOR).mutable_tensor();
  tensor.set_dtype(tensorboard::DT_DOUBLE);
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<std::int64_t>(all.size()));
  tensor.mutable_tensor_shape()->add_dim()->set_size(3);
  for (const Bucket& bucket : all)
    for (const double number : {bucket.left, bucket.right, bucket.count}) tensor.add_double_val(number);
  write_record(event.SerializeAsString());
}

void EventFile::add_graph(const Network& network) {
  tensorboard::Event event = event_at(0);
  event.set_graph_def(graph_of(network).SerializeAsString());
  write_record(event.SerializeAsString());
}

void EventFile::flush() {
  file_.flush();
  require<InputError>(file_.good(), "{}: cannot be written: {}", path_, std::strerror(errno));
}

void EventFile::write_record(const std::string& event) {
  lockstep::write_record(file_, event);
  require<InputError>(file_.good(), "{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace lockstep
