#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/models/graph/network.h>

namespace lockstep {

/// Where Keras' list of a model's layers and its files begin to differ: the legacy files leave modules out.
enum class ConfigForm { keras_3, legacy_h5 };

/// What a model, its inputs and its layers, in the network's order, are called.
struct NetworkNames {
  std::string model;                ///< not among the network's own
  std::vector<std::string> inputs;  ///< no layer has one of these names
  std::vector<std::string> layers;  ///< each once
};

/// The network's own, as a model of this name.
NetworkNames own_names(const Network& network, const std::string& model);
/// Those that Keras 3 takes: with "_" for each "/", which names of Keras 2 may have, and a number after them where that
/// name is another's. In a legacy file a number also follows names that its groups have another use for.
NetworkNames file_names(const Network& network, const std::string& model, ConfigForm form);

/// Keras 3's configuration of a functional model under these names: its layers with their options, and between which
/// results each of their calls stands. Never nested. Throws Unsupported, naming the layer, for one that is none of
/// Keras'.
nlohmann::ordered_json network_config(const Network& network, const NetworkNames& names,
                                      ConfigForm form = ConfigForm::keras_3);

}  // namespace lockstep
