#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// Who wrote a file.
struct FileWriter {
  std::string version;  ///< of Keras; empty where the file does not say it
  std::string backend;  ///< "lockstep" for files of this project, which are as Keras 3's
};

/// A model's configuration, with its "compile_config", in which is said here what Keras' versions mean each by the same
/// words. Of Keras 2, in Keras 3's: hard_sigmoid; names of metrics, which began with those of several outputs; and,
/// before it was TensorFlow's, an optimizer's clipnorm. Of Keras 3: `training` in a call of a layer, which its fit,
/// evaluate and predict override, is left out.
nlohmann::ordered_json in_own_terms(nlohmann::ordered_json model, const FileWriter& writer);

}  // namespace lockstep
