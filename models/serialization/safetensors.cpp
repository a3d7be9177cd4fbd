#include <utility>
#include <vector>

#include <lockstep/models/files/safetensors_file.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/file_formats.h>

// Weights in safetensors files, named "layer/variable".

namespace lockstep {
namespace {

std::vector<std::byte> safetensors_contents(const Network& network) {
  std::vector<NamedTensor> weights;
  const std::vector<Variable> variables = network.variables();
  const std::vector<std::string> names = network.weight_names();
  for (std::size_t i = 0; i < variables.size(); ++i) weights.push_back({names[i], variables[i].value()});
  return safetensors_contents(weights);
}

/// Implements WeightsFormat::read. Without options, the file must have exactly the network's weights, in any real
/// dtype.
WeightValues read_safetensors(const Network& network, const std::string& path, const LoadWeightsOptions& options) {
  std::vector<SafetensorsFile::Expected> weights;
  const std::vector<Variable> variables = network.variables();
  const std::vector<std::string> names = network.weight_names();
  for (std::size_t i = 0; i < variables.size(); ++i)
    weights.push_back({.name = names[i],
                       .dtype = variables[i].dtype(),
                       .shape = variables[i].shape(),
                       .stored = options.stored_as ? options.stored_as(names[i]) : StoredWeight{names[i]}});
  const std::vector<Tensor> values = SafetensorsFile(path).read_matching(
      weights, [&](const std::string& message, bool is_missing) { options.skip(message, is_missing); },
      options.ignore_extra);
  WeightValues read;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (values[i].defined()) read.emplace_back(variables[i], values[i]);
  return read;
}

}  // namespace

constexpr WeightsFormat safetensors_format{
    .extension = ".safetensors", .contents = safetensors_contents, .read = read_safetensors};

}  // namespace lockstep
