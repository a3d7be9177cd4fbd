#pragma once

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/graph/nested_model.h>

namespace lockstep {

/// The model with names that Keras 3 accepts: each "/", which Keras 2 allows in names, becomes "_", and a name that is
/// then already taken in the same model gets a numeric suffix. For legacy files, a name that equals the name of a
/// reserved group also gets a suffix.
NestedModel with_file_names(const NestedModel& model, ConfigForm form);

/// Keras 3's configuration of a model: its layers and nested models with their options, and the inputs of each of their
/// calls. Throws Unsupported, naming the layer, for a layer of a class that is neither Keras' nor registered and, in
/// the legacy form, for an operation. The legacy form of a model without masks, which operations drop, has layers in
/// place of the operations that Rescaling, Add, Subtract, Multiply, Maximum and Minimum compute in f32.
nlohmann::ordered_json network_config(const NestedModel& model, ConfigForm form = ConfigForm::keras_3);

}  // namespace lockstep
