#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Where Keras' list of a model's layers and its files begin to differ: the legacy files leave modules out.
enum class ConfigForm { keras_3, legacy_h5 };

/// Keras 3's configuration of a functional model: its layers with their options, and between which results each of
/// their calls stands. Never nested. Throws Unsupported, naming the layer, for one that is none of Keras'.
nlohmann::ordered_json network_config(const Network& network, const std::string& name,
                                      ConfigForm form = ConfigForm::keras_3);

}  // namespace lockstep
