#include "workload.h"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/ranges.h>

#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/zoo/efficientnet.h>
#include <lockstep/models/zoo/gpt.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/models/zoo/mlp.h>
#include <lockstep/models/zoo/mobilenet_v2.h>
#include <lockstep/models/zoo/resnet.h>
#include <lockstep/models/zoo/siamese_lstm.h>
#include <lockstep/models/zoo/small_cnn.h>
#include <lockstep/models/zoo/unet.h>
#include <lockstep/models/zoo/vit.h>
#include <lockstep/models/zoo/xception.h>

#include "nearest_name.h"

namespace lockstep::cli {
namespace {

/// Indexed by ModelKind.
constexpr std::array<const char*, 11> names{"efficientnet-b0", "gpt",          "minigooglenet", "mlp",  "mobilenet-v2",
                                            "resnet50",        "siamese-lstm", "small-cnn",     "unet", "vit",
                                            "xception"};

const char* name_of(ModelKind kind) { return names[static_cast<std::size_t>(kind)]; }

/// Whether the model gives a logit for each class, and not one probability.
bool has_classes(ModelKind kind) { return kind != ModelKind::mlp && kind != ModelKind::siamese_lstm; }

/// A float in [0, 1) from the upper 24 bits, identical on every platform.
float unit_float(std::mt19937& random) { return static_cast<float>(random() >> 8) * 0x1p-24F; }

}  // namespace

ModelKind parse_model(const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "--model '{}' is not known; choose {}{}", name, model_names(),
          suggestion(name, {names.begin(), names.end()}));
  return static_cast<ModelKind>(found - names.begin());
}

std::string model_names() {
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

ExampleForm usual_form(ModelKind kind) {
  switch (kind) {
    case ModelKind::gpt:
      return {.shape = {256}, .classes = 65, .labels = {256}, .ids = true};
    case ModelKind::mini_googlenet:
    case ModelKind::small_cnn:
      return {{32, 32, 3}, 10};
    case ModelKind::mlp:
      return {{8000}, 2};
    case ModelKind::efficientnet_b0:
    case ModelKind::mobilenet_v2:
    case ModelKind::resnet50:
    case ModelKind::vit:
      return {{224, 224, 3}, 1000};
    case ModelKind::siamese_lstm:
      return {{140, 256}, 2, 2};
    case ModelKind::unet:
      return {.shape = {128, 128, 3}, .classes = 2, .labels = {128, 128}};
    case ModelKind::xception:
      return {{299, 299, 3}, 1000};
  }
  fail<BrokenInvariant>("no such kind of model");
}

bool takes_images(ModelKind kind) { return usual_form(kind).shape.rank() == 3 && kind != ModelKind::unet; }

ModelInput input_of(ModelKind kind) {
  constexpr std::int64_t smallest_of_xception = 71;
  const ExampleForm form = usual_form(kind);
  return {.form = form,
          .images = takes_images(kind),
          .any_size = takes_images(kind),
          .smallest_side = kind == ModelKind::xception ? smallest_of_xception : 1,
          .outputs = has_classes(kind) ? form.classes : 1,
          .each_step = form.ids};
}

Model make_model(ModelKind kind, const ModelSettings& settings) {
  const bool has_rate = kind == ModelKind::mini_googlenet || kind == ModelKind::small_cnn;
  require(!settings.dropout || has_rate, "--dropout is for the models {} and {}, not for {}",
          name_of(ModelKind::mini_googlenet), name_of(ModelKind::small_cnn), name_of(kind));
  const ExampleForm form = settings.images.value_or(usual_form(kind));
  const Shape& shape = form.shape;
  const std::int64_t classes = form.classes;
  const zoo::ImageModelOptions images{
      .input_shape = shape, .classes = classes, .classifier_activation = Activation::linear, .seed = settings.seed};
  const DTypePolicyScope policy(settings.dtype_policy.value_or(DTypePolicy::float32));
  switch (kind) {
    case ModelKind::efficientnet_b0:
      return zoo::efficientnet_b0(images);
    case ModelKind::gpt:
      return zoo::gpt({.vocabulary = classes, .seed = settings.seed});
    case ModelKind::mini_googlenet: {
      zoo::MiniGoogLeNetOptions options{.seed = settings.seed};
      options.dropout = settings.dropout.value_or(options.dropout);
      return zoo::mini_googlenet(shape, static_cast<int>(classes), options);
    }
    case ModelKind::mlp:
      return zoo::mlp({.seed = settings.seed});
    case ModelKind::mobilenet_v2:
      return zoo::mobilenet_v2(images);
    case ModelKind::resnet50:
      return zoo::resnet50(images);
    case ModelKind::siamese_lstm:
      return zoo::siamese_lstm({.seed = settings.seed});
    case ModelKind::small_cnn: {
      zoo::SmallCnnOptions options{.seed = settings.seed};
      options.dropout = settings.dropout.value_or(options.dropout);
      return zoo::small_cnn(shape, static_cast<int>(classes), options);
    }
    case ModelKind::unet:
      return zoo::unet(shape, static_cast<int>(classes), {.seed = settings.seed});
    case ModelKind::vit:
      return zoo::vit(shape, static_cast<int>(classes), {.seed = settings.seed});
    case ModelKind::xception:
      return zoo::xception(images);
  }
  fail<BrokenInvariant>("no such kind of model");
}

Loss make_loss(ModelKind kind) {
  if (has_classes(kind)) return SparseCategoricalCrossentropy{{.from_logits = true}};
  return BinaryCrossentropy{};
}

Optimizer make_usual_optimizer(ModelKind kind) {
  switch (kind) {
    case ModelKind::mini_googlenet:
      return SGD({.learning_rate = 5e-3, .momentum = 0.9});
    case ModelKind::gpt:
    case ModelKind::mlp:
    case ModelKind::unet:
    case ModelKind::vit:
      return Adam({.learning_rate = 1e-4});
    case ModelKind::resnet50:
      return SGD({.learning_rate = 0.1, .momentum = 0.9});
    case ModelKind::small_cnn:
      return Adam();
    case ModelKind::efficientnet_b0:
    case ModelKind::mobilenet_v2:
    case ModelKind::siamese_lstm:
    case ModelKind::xception:
      return RMSprop();
  }
  fail<BrokenInvariant>("no such kind of model");
}

Example synthetic_examples(const ExampleForm& form, std::int64_t count, std::uint64_t seed) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const auto batch_of = [count](const Shape& example) {
    Shape shape{count};
    for (const std::int64_t dim : example) shape.push_back(dim);
    return shape;
  };
  const auto classes_of = [&](const Shape& example) {
    Tensor made = Tensor::empty(batch_of(example), DType::i64);
    for (std::int64_t& value : made.span<std::int64_t>()) value = static_cast<std::int64_t>(random()) % form.classes;
    return made;
  };
  std::vector<Tensor> xs;
  for (int input = 0; input < form.inputs; ++input) {
    xs.push_back(form.ids ? classes_of(form.shape) : Tensor::empty(batch_of(form.shape)));
    if (form.ids) continue;
    for (float& value : xs.back().span<float>()) value = unit_float(random);
  }
  return {std::move(xs), {classes_of(form.labels)}};
}

}  // namespace lockstep::cli
