#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// The zoo models that the program trains, each with a loss and suitable examples.
enum class ModelKind {
  efficientnet_b0,
  gpt,
  mini_googlenet,
  mlp,
  mobilenet_v2,
  resnet50,
  siamese_lstm,
  small_cnn,
  unet,
  vit,
  xception
};

/// Throws InvalidArgument listing the known names.
ModelKind parse_model(const std::string& name);
/// The known names, for messages.
std::string model_names();

/// Form of a model's examples. All inputs have the same shape. The labels are in [0, classes), or 0 or 1 if the model's
/// output is one probability.
struct ExampleForm {
  Shape shape;  ///< of each input
  std::int64_t classes;
  int inputs = 1;
  Shape labels{1};   ///< shape of an example's labels
  bool ids = false;  ///< the inputs are ids in [0, classes)
};

/// The form of the data for which the model was published. Synthetic examples have this form.
ExampleForm usual_form(ModelKind kind);
/// Whether the model classifies images, so that images of other sizes may suit it.
bool takes_images(ModelKind kind);

/// The examples that suit a model.
struct ModelInput {
  ExampleForm form;              ///< the usual form
  bool images = false;           ///< the model classifies images
  bool any_size = false;         ///< other image sizes and numbers of classes also suit the model
  std::int64_t smallest_side{};  ///< least height and width of images that suit the model
  std::int64_t outputs = 1;      ///< size of the output's last axis; with 1, targets may be any number
  bool each_step = false;        ///< whether the model computes `outputs` numbers for each step of a sequence
  bool any_length = false;       ///< whether it takes any number of steps; form.shape is then {--sequence-length}
  std::optional<std::int64_t> ignored_class{};  ///< the label of examples that the loss ignores
};

ModelInput input_of(ModelKind kind);

struct ModelSettings {
  std::uint64_t seed = 0;
  std::optional<double> dropout{};            ///< overrides the model's own rate
  std::optional<ExampleForm> images{};        ///< form of the examples of models that take images; default: usual_form
  std::optional<DTypePolicy> dtype_policy{};  ///< of the layers; default: float32
};

/// Builds the model in the current strategy scope.
Model make_model(ModelKind kind, const ModelSettings& settings);
Loss make_loss(ModelKind kind);
/// The optimizer of the tutorial or paper that the model comes from.
Optimizer make_usual_optimizer(ModelKind kind);

/// `count` random examples, determined by `seed`.
Example synthetic_examples(const ExampleForm& form, std::int64_t count, std::uint64_t seed);

}  // namespace lockstep::cli
