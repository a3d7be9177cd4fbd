#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/optimizer_variables.h>
#include <lockstep/models/serialization/symbolic_model.h>
#include <lockstep/models/training/model.h>
#include <lockstep/models/training/model_files.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

/// x -> "pair": "first", which is not trainable, -> "second".
Network network_of_pair() {
  const Symbol x = Input({1}, "x");
  const Dense first({.units = 1, .use_bias = false, .name = "first"});
  first.impl().set_trainable(false);
  const Symbol y = Input({1}, "y");
  const Model pair(y, Dense({.units = 1, .use_bias = false, .name = "second"})(first(y)), {.name = "pair"});
  return {x, pair(x), 0};
}

/// A file in which the weight of "first" is 1 and that of "second" is 2.
void write_file(const std::string& path, const Json& config, const std::vector<std::string>& layers) {
  hdf5::Writer file(0);
  file.add_attribute("/", "model_config", config.dump());
  std::vector<std::string> names;
  for (const std::string& layer : layers) {
    names.push_back(layer + "/kernel");
    file.add_dataset("model_weights/pair/" + names.back(), std::vector<float>{layer == "first" ? 1.0F : 2.0F}, {1, 1});
  }
  file.add_attribute("model_weights/pair", "weight_names", names);
  file.add_attribute("model_weights", "layer_names", std::vector<std::string>{"pair"});
  file.write_to(path);
}

std::vector<float> weights_of(const Network& network) {
  std::vector<float> weights;
  for (const Variable& variable : network.variables()) weights.push_back(variable.value().to_vector<float>().front());
  return weights;
}

// Keras' order: `trainable_weights` of a model that is not trainable is empty, whatever its layers say.
TEST(LegacyFile, HasWeightsFirstThatTrainButInAModelThatDoesNot) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.h5";
  for (const bool outer : {true, false}) {
    for (const bool inner : {true, false}) {
      const Network own = network_of_pair();
      Json config = network_config(keras_model(own, "outer"), ConfigForm::legacy_h5);
      config["config"]["trainable"] = outer;
      config["config"]["layers"][1]["config"]["trainable"] = inner;
      write_file(path, config,
                 inner ? std::vector<std::string>{"second", "first"} : std::vector<std::string>{"first", "second"});
      load_weights(own, path);
      EXPECT_THAT(weights_of(own), ElementsAre(1, 2)) << outer << inner;
      const Json written = legacy_h5_format.read_config(path);
      const SymbolicModel opened = model_from_config(written);
      const Network network(opened.inputs, opened.outputs, 0);
      std::optional<Training> none;
      legacy_h5_format.read_weights(path, written, opened.layers, none);
      EXPECT_THAT(weights_of(network), ElementsAre(1, 2)) << outer << inner;
    }
  }
}

/// A model of operations that layers compute, too, in a model and around it.
Model of_operations(const Symbol& x) {
  const Symbol y = Input({3}, "y");
  const Symbol inner = operation("Multiply", {Dense({.units = 2})(y)}, "{}", R"([0.3, {"tensor": 0}])");
  const Model nested(y, operation("Add", {inner}, "{}", R"([{"tensor": 0}, 3.0])"), {.name = "nested"});
  const Symbol z = operation("Subtract", {nested(x)}, "{}", R"([2.0, {"tensor": 0}])");
  const Symbol seventh = operation("TrueDivide", {z}, "{}", R"([{"tensor": 0}, 7.0])");
  return {x, operation("Negative", {operation("Maximum", {z, seventh})})};
}

// Keras cannot read operations from these files.
TEST(LegacyFile, HasLayersForOperationsThatTheyCompute) {
  const test::TemporaryFolder folder;
  const Model model = of_operations(Input({3}));
  model.save(folder / "model.h5");
  const Model opened = load_model(folder / "model.h5");
  std::vector<std::string> names;
  for (const Layer& layer : opened.network().layers())
    names.push_back(fmt::format("{} {}", layer.impl().class_name(), layer.name()));
  EXPECT_THAT(names, ElementsAre("Dense dense", "Rescaling multiply", "Rescaling add", "Rescaling subtract",
                                 "Rescaling true_divide", "Maximum maximum", "Rescaling negative"));
  const Tensor x = test::random_tensor({4, 3}, 1);
  test::expect_close(opened(x), model(x).to_vector<double>(), 4);
  const Json written = legacy_h5_format.read_config(folder / "model.h5");
  const Json& scaling = written["config"]["layers"][1]["config"]["layers"][2];
  EXPECT_EQ(scaling["class_name"], "Rescaling");
  EXPECT_EQ(scaling["config"]["scale"], 0.3);
}

// Rescaling layers would pass the mask on.
TEST(LegacyFile, HoldsNoOperationsOfModelsWithMasks) {
  const Symbol x = Input({3, 1});
  const Model model = Model(x, operation("Add", {Masking()(x)}, "{}", R"([{"tensor": 0}, 3.0])"));
  EXPECT_ERROR(Unsupported, "operation 'add' of class Add: .h5 files of whole models hold layers alone; save as .keras",
               model.check_can_be_saved("model.h5"));
}

// The variables that the network trains are independent of this.
TEST(LegacyFile, GivesTheOrderInWhichItsOwnModelTrains) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.h5";
  const Network own = network_of_pair();
  for (const bool first : {true, false}) {
    for (const bool second : {true, false}) {
      Json config = network_config(keras_model(own, "outer"), ConfigForm::legacy_h5);
      Json& layers = config["config"]["layers"][1]["config"]["layers"];
      layers[1]["config"]["trainable"] = first;
      layers[2]["config"]["trainable"] = second;
      const bool is_swapped = second && !first;
      write_file(
          path, config,
          is_swapped ? std::vector<std::string>{"second", "first"} : std::vector<std::string>{"first", "second"});
      load_weights(own, path);
      EXPECT_THAT(weights_of(own), ElementsAre(1, 2)) << first << second;
    }
  }
}

// In Keras 3, making a model not trainable does the same to its layers, which may be made trainable again.
TEST(LegacyFile, HasWeightsFirstOfLayersThatTrainInAModelDeepInsideThatDoesNot) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.h5";
  const Symbol a = Input({1}, "a");
  const Model inner(a, Dense({.units = 1, .use_bias = false, .name = "first"})(a), {.name = "inner"});
  const Symbol b = Input({1}, "b");
  const Model pair(b, Dense({.units = 1, .use_bias = false, .name = "second"})(inner(b)), {.name = "pair"});
  const Symbol x = Input({1}, "x");
  const Network own(x, pair(x), 0);
  for (const bool first : {true, false}) {
    Json config = network_config(keras_model(own, "outer"), ConfigForm::legacy_h5);
    Json& inner_config = config["config"]["layers"][1]["config"]["layers"][1]["config"];
    inner_config["trainable"] = false;
    inner_config["layers"][1]["config"]["trainable"] = first;
    write_file(path, config,
               first ? std::vector<std::string>{"first", "second"} : std::vector<std::string>{"second", "first"});
    load_weights(own, path);
    EXPECT_THAT(weights_of(own), ElementsAre(1, 2)) << first;
    const Json written = legacy_h5_format.read_config(path);
    const SymbolicModel opened = model_from_config(written);
    const Network network(opened.inputs, opened.outputs, 0);
    std::optional<Training> none;
    legacy_h5_format.read_weights(path, written, opened.layers, none);
    EXPECT_THAT(weights_of(network), ElementsAre(1, 2)) << first;
  }
}

// A group with its name holds the weights of the model, not only those of its layer.
TEST(LegacyFile, HasOneGroupForAModelThatHasTheNameOfItsOnlyLayerThatIsRead) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model.h5";
  const Symbol y = Input({1}, "y");
  const Model pair(y, Dense({.units = 1, .use_bias = false, .name = "pair"})(y), {.name = "pair"});
  const Symbol x = Input({1}, "x");
  Json config = network_config(keras_model(Network(x, pair(x), 0), "outer"), ConfigForm::legacy_h5);
  Json& inner = config["config"]["layers"][1]["config"];
  Json unread = inner["layers"][1];
  unread["config"]["name"] = unread["name"] = "first";
  inner["layers"].push_back(unread);
  inner["output_layers"] = {{"pair", 0, 0}, {"first", 0, 0}};
  write_file(path, config, {"pair", "first"});
  const SymbolicModel opened = model_from_config(legacy_h5_format.read_config(path));
  const Network network(opened.inputs, opened.outputs, 0);
  EXPECT_NO_THROW(load_weights(network, path));
  for (const Variable& weight : network.variables())
    EXPECT_EQ(weight.value().to_vector<float>().front(), weight.name().starts_with("first") ? 1 : 2) << weight.name();
  EXPECT_EQ(network.variables().size(), 2U);
}

}  // namespace
}  // namespace lockstep
