#include "lockstep/models/layers/layer_registry.h"

#include <map>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Maker = Layer (*)(LayerConfig&);

template <class Kind>
Layer make(LayerConfig& config) {
  return Kind::from_config(config);
}

/// Every layer that a file can hold, by Keras' name of its class.
const std::map<std::string_view, Maker>& makers() {
  static const std::map<std::string_view, Maker> table{
      {"Activation", make<ActivationLayer>},
      {"Add", make<Add>},
      {"AveragePooling2D", make<AveragePooling2D>},
      {"BatchNormalization", make<BatchNormalization>},
      {"Concatenate", make<Concatenate>},
      {"Conv2D", make<Conv2D>},
      {"Dense", make<Dense>},
      {"DepthwiseConv2D", make<DepthwiseConv2D>},
      {"Dropout", make<Dropout>},
      {"ELU", make<ELU>},
      {"Embedding", make<Embedding>},
      {"Flatten", make<Flatten>},
      {"GRU", make<GRU>},
      {"GlobalAveragePooling2D", make<GlobalAveragePooling2D>},
      {"GlobalMaxPooling2D", make<GlobalMaxPooling2D>},
      {"LSTM", make<LSTM>},
      {"LayerNormalization", make<LayerNormalization>},
      {"LeakyReLU", make<LeakyReLU>},
      {"MaxPooling2D", make<MaxPooling2D>},
      {"ReLU", make<ReLU>},
      {"Reshape", make<Reshape>},
      {"SeparableConv2D", make<SeparableConv2D>},
      {"Softmax", make<Softmax>},
      {"ZeroPadding2D", make<ZeroPadding2D>},
  };
  return table;
}

std::string known_classes() {
  std::vector<std::string_view> names;
  for (const auto& [name, maker] : makers()) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Layer layer_from_config(LayerConfig& config) {
  const auto maker = makers().find(config.class_name());
  require<InputError>(maker != makers().end(), "layer '{}' is of class {}; known are {}", config.name(),
                      config.class_name(), known_classes());
  try {
    const Layer layer = maker->second(config);
    layer.impl().set_trainable(config.trainable());
    if (config.dtype_policy()) layer.impl().set_dtype_policy(*config.dtype_policy());
    return layer;
  } catch (const InvalidArgument& error) {  // options that the layer's constructor refuses
    fail<InputError>("layer '{}': {}", config.name(), error.what());
  }
}

}  // namespace lockstep
