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
/// Whether the model is an image classifier. Such models can be built for image sizes other than the usual one.
bool takes_images(ModelKind kind);

/// The examples that suit a model.
struct ModelInput {
  ExampleForm form;              ///< the usual form
  bool images = false;           ///< the model classifies images
  bool any_size = false;         ///< the model can be built for other image sizes and numbers of classes
  std::int64_t smallest_side{};  ///< 71 for xception, otherwise 1; make_model itself may require larger images
  std::int64_t outputs = 1;      ///< size of the output's last axis; with 1, targets may be any number
  bool each_step = false;        ///< whether the model computes `outputs` numbers for each step of a sequence
  bool any_length = false;       ///< whether it takes any number of steps; if so, form.shape is {--sequence-length}
  std::optional<std::int64_t> ignored_class{};  ///< the label of examples that the loss ignores
};

ModelInput input_of(ModelKind kind);

struct ModelSettings {
  std::uint64_t seed = 0;
  std::optional<double> dropout{};            ///< replaces the default rate of mini_googlenet or small_cnn
  std::optional<ExampleForm> images{};        ///< form of the examples of models that take images; default: usual_form
  std::optional<DTypePolicy> dtype_policy{};  ///< of the layers; default: float32
};

/// Builds the model in the current strategy scope. Throws InvalidArgument if settings.dropout is set for a model other
/// than mini_googlenet and small_cnn, and if the model cannot take images of the size in settings.images.
Model make_model(ModelKind kind, const ModelSettings& settings);
Loss make_loss(ModelKind kind);
/// The optimizer of the tutorial or paper that the model comes from.
Optimizer make_usual_optimizer(ModelKind kind);

/// `count` random examples, determined by `seed`.
Example synthetic_examples(const ExampleForm& form, std::int64_t count, std::uint64_t seed);

}  // namespace lockstep::cli
