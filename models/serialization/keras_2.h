#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// The Keras version and backend that wrote a file.
struct FileWriter {
  std::string version;  ///< version of Keras; empty if the file does not contain it
  std::string backend;  ///< "lockstep" for lockstep's own files, which follow Keras 3
};

/// Converts a model's configuration, including "compile_config", to lockstep's meanings of names and options. In files
/// of Keras 2, hard_sigmoid becomes keras_2_hard_sigmoid, and prefixes of outputs are removed from the names of
/// metrics. In files of multi-backend Keras 2, an optimizer's clipnorm also becomes global_clipnorm. In files of Keras
/// 3, `training` is removed from calls of layers, since fit, evaluate and predict override it in Keras 3.
/// Configurations from lockstep's own files and from files without a version are returned unchanged.
nlohmann::ordered_json in_own_terms(nlohmann::ordered_json model, const FileWriter& writer);

}  // namespace lockstep
