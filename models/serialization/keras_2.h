#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// A model's configuration, with its "compile_config", in which what this version of Keras meant by names that Keras 3
/// has too is said in Keras 3's: hard_sigmoid; and, of Keras before it was TensorFlow's, an optimizer's clipnorm. Other
/// versions than 2 leave it as it is.
nlohmann::ordered_json in_terms_of_keras_3(nlohmann::ordered_json model, std::string_view version);

}  // namespace lockstep
