#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/losses/loss.h>
#include <lockstep/models/metrics/metric.h>

namespace lockstep {

/// The loss and metrics of an output of a model: its entries in Keras' lists `loss`, `loss_weights`, `metrics` and
/// `weighted_metrics`.
struct OutputTraining {
  std::optional<Loss> loss{};  ///< empty if the output has only metrics
  double loss_weight = 1;      ///< factor of the loss in the model's loss
  /// Metrics that give all examples the same weight.
  std::vector<Metric> metrics{};
  /// Metrics that use sample and class weights.
  std::vector<Metric> weighted_metrics{};
};

/// A metric of a compiled model.
struct CompiledMetric {
  /// The metric, with its name in logs.
  Metric metric;
  bool weighted = false;  ///< uses sample and class weights
};

/// An output of a compiled model.
struct CompiledOutput {
  std::optional<Loss> loss{};  ///< see OutputTraining::loss
  /// See OutputTraining::loss_weight.
  double loss_weight = 1;
  /// Name in logs. Empty without a loss, and for the model's only loss, which is logged as "loss".
  std::string loss_name{};
  /// Weighted metrics are last.
  std::vector<CompiledMetric> metrics{};
};

/// The values in fit's logs that are neither losses nor metrics. They have no counterparts for validation ("val_...").
inline constexpr std::array<std::string_view, 3> training_values{"learning_rate", "epoch_s", "examples_per_s"};

/// The losses and metrics of `network`'s outputs, with Keras' names in logs: "loss" for a single loss, "accuracy" in a
/// network with a single output, otherwise names such as "softmax_loss" and "softmax_accuracy", with the output's name
/// (Network::output_names). If several metrics have the same name, the later ones become "accuracy_1" or, if they are
/// weighted, "weighted_accuracy". Throws InvalidArgument if `outputs` does not have one entry for each output, for a
/// loss_weight that is not finite, and for a name that is already taken in fit's logs, such as "val_loss" for the loss
/// of an output "val".
std::vector<CompiledOutput> compile_outputs(const Network& network, const std::vector<OutputTraining>& outputs);

}  // namespace lockstep
