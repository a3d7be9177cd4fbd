#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {

/// The models of the zoo that the program trains, each with the loss and the examples that suit it.
enum class ModelKind { mini_googlenet, mlp };

/// Throws InvalidArgument listing the known names.
ModelKind parse_model(const std::string& name);

struct ModelSettings {
  std::uint64_t seed = 0;
  std::optional<double> dropout{};  ///< overrides the model's own rate
};

/// Builds the model in the open scope.
Model make_model(ModelKind kind, const ModelSettings& settings);
Loss make_loss(ModelKind kind);

/// `count` random examples of the shape that the model takes, the same for the same seed.
Example synthetic_examples(ModelKind kind, std::int64_t count, std::uint64_t seed);

}  // namespace lockstep::cli
