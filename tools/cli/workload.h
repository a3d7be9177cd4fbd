#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// The models of the zoo that the program trains, each with the loss and the examples that suit it.
enum class ModelKind { mini_googlenet, mlp, resnet50, siamese_lstm, small_cnn, xception };

/// Throws InvalidArgument listing the known names.
ModelKind parse_model(const std::string& name);
/// The known names, for people.
std::string model_names();

/// What a model is given: examples of one shape, each of one of `classes` (0 and 1 where there is one probability).
struct ExampleForm {
  Shape shape;  ///< of each input
  std::int64_t classes;
  int inputs = 1;
};

/// That of synthetic examples: what the model's origin takes.
ExampleForm usual_form(ModelKind kind);
/// Whether the model tells classes of images apart, which may be of other sizes than the usual.
bool takes_images(ModelKind kind);

/// Which examples suit a model.
struct ModelInput {
  ExampleForm form;              ///< the usual one
  bool images = false;           ///< classes of images
  bool any_size = false;         ///< images of other sizes than the usual, and another number of classes, suit it too
  std::int64_t smallest_side{};  ///< of them
};

ModelInput input_of(ModelKind kind);

struct ModelSettings {
  std::uint64_t seed = 0;
  std::optional<double> dropout{};            ///< overrides the model's own rate
  std::optional<ExampleForm> images{};        ///< instead of the usual form, for models that take images
  std::optional<DTypePolicy> dtype_policy{};  ///< of the layers; if not said, float32
};

/// Builds the model in the open scope.
Model make_model(ModelKind kind, const ModelSettings& settings);
Loss make_loss(ModelKind kind);
/// That of the model's tutorial or paper.
Optimizer make_usual_optimizer(ModelKind kind);

/// `count` random examples, the same for the same seed.
Example synthetic_examples(const ExampleForm& form, std::int64_t count, std::uint64_t seed);

}  // namespace lockstep::cli
