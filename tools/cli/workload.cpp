#include "workload.h"

#include <random>

#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/models/zoo/mlp.h>

namespace lockstep::cli {
namespace {

constexpr std::int64_t classes = 10;
const Shape image_shape{32, 32, 3};
const Shape feature_shape{8000};

/// A float in [0, 1) from the upper bits, the same on every platform.
float unit_float(std::mt19937& random) { return static_cast<float>(random() >> 8) * 0x1p-24F; }

}  // namespace

ModelKind parse_model(const std::string& name) {
  if (name == "minigooglenet") return ModelKind::mini_googlenet;
  if (name == "mlp") return ModelKind::mlp;
  fail("--model '{}' is not known; choose minigooglenet or mlp", name);
}

Model make_model(ModelKind kind, const ModelSettings& settings) {
  if (kind == ModelKind::mini_googlenet) {
    zoo::MiniGoogLeNetOptions options;
    options.seed = settings.seed;
    if (settings.dropout) options.dropout = static_cast<float>(*settings.dropout);
    return zoo::mini_googlenet(image_shape, classes, options);
  }
  require(!settings.dropout, "--dropout: the model mlp has no dropout layer");
  zoo::MlpOptions options;
  options.seed = settings.seed;
  return zoo::mlp(options);
}

Loss make_loss(ModelKind kind) {
  if (kind == ModelKind::mini_googlenet) return SparseCategoricalCrossentropy{{.from_logits = true}};
  return BinaryCrossentropy{};
}

Example synthetic_examples(ModelKind kind, std::int64_t count, std::uint64_t seed) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  Shape shape{count};
  for (const std::int64_t dim : kind == ModelKind::mini_googlenet ? image_shape : feature_shape) shape.push_back(dim);
  Example examples{.x = Tensor::empty(shape), .y = Tensor::empty({count, 1}, DType::u8)};
  for (float& value : examples.x.span<float>()) value = unit_float(random);
  const std::uint32_t labels = kind == ModelKind::mini_googlenet ? classes : 2;
  for (std::uint8_t& label : examples.y.span<std::uint8_t>()) label = static_cast<std::uint8_t>(random() % labels);
  return examples;
}

}  // namespace lockstep::cli
