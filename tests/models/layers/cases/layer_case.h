#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/models/layers/layer.h>

// The table of layers. Each row is a layer with some of its options. layer_cases_test.cpp and layer_case_masks_test.cpp
// have the tests that each row must pass. A new layer needs rows here; it needs tests of its own only for its values
// and for behavior that the tests of the table do not cover.

namespace lockstep::test {

/// What the tests must know about a row.
struct LayerCaseTraits {
  /// For each input, the number of ids (0, 1, ...) that it may contain; 0 for numbers. Missing elements are 0.
  std::vector<std::int64_t> ids{};
  /// Words of the error that is thrown if the layer's gradient is differentiated; empty if this is possible.
  std::string second_gradient_refusal{};
  bool masked = false;            ///< the first input, (time, features), has a mask
  bool stateful = false;          ///< needs the number of examples
  bool depends_on_batch = false;  ///< an example's result depends on the other examples
  bool synchronized = false;      ///< if depends_on_batch: on the examples of all replicas
  bool causal = false;            ///< is called with use_causal_mask
  bool scores = false;            ///< for layers of attention: whether the second result is used
  bool in_files = true;           ///< whether files can hold the layer
  int mask_rank = 0;              ///< axes of an input's mask, with the batch axis; 0: one axis less than the input
  std::string mask_refusal{};     ///< words of the error of a call with masks; empty: such calls are accepted
  Mode mode = Mode::train;        ///< the mode of the calls
};

struct LayerCase {
  std::string name;             ///< the class's name, optionally followed by more words
  std::function<Layer()> make;  ///< makes a new layer
  std::vector<Shape> inputs;    ///< the shapes of the inputs, without the batch axis
  LayerCaseTraits traits{};

  std::string class_name() const { return name.substr(0, name.find(' ')); }
  std::int64_t ids(std::size_t input) const { return input < traits.ids.size() ? traits.ids[input] : 0; }
};

std::vector<LayerCase> array_layer_cases();
std::vector<LayerCase> attention_layer_cases();
std::vector<LayerCase> convolution_layer_cases();
std::vector<LayerCase> dense_layer_cases();
std::vector<LayerCase> normalization_layer_cases();
std::vector<LayerCase> pooling_layer_cases();
std::vector<LayerCase> random_layer_cases();
std::vector<LayerCase> recurrent_layer_cases();

}  // namespace lockstep::test
