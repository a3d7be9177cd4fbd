#pragma once

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/config/object_config.h>
#include <lockstep/models/graph/nested_model.h>

namespace lockstep {

/// The model with names that Keras 3 takes: with "_" for each "/", which names of Keras 2 may have, and a number after
/// them where that name is another's in the same model. In a legacy file a number also follows names that its groups
/// have another use for.
NestedModel with_file_names(const NestedModel& model, ConfigForm form);

/// Keras 3's configuration of a model: its layers with their options, the models in it with theirs, and between which
/// results each of their calls stands. Throws Unsupported, naming the layer, for one that is none of Keras'.
nlohmann::ordered_json network_config(const NestedModel& model, ConfigForm form = ConfigForm::keras_3);

}  // namespace lockstep
