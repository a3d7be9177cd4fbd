#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string tensor(const std::string& layer) {
  return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + layer + R"(", 0, 0]}})";
}

Json entry(const std::string& class_name, const std::string& name, const std::string& options, const std::string& args,
           const std::string& kwargs = "") {
  return Json::parse(R"({"class_name": ")" + class_name + R"(", "name": ")" + name + R"(", "config": {"name": ")" +
                     name + "\"" + (options.empty() ? "" : ", " + options) + R"(}, "inbound_nodes": [{"args": [)" +
                     args + R"(], "kwargs": {)" + kwargs + "}}]}");
}

const std::string any_layer = R"("trainable": true)";

/// As Keras 3 saves Input -> Embedding -> GRU -> GRU with masks: they are operations. `compared`: the operands of
/// NotEqual.
Json masked_model(const std::string& compared, const std::string& combining = "LogicalOr") {
  Json input = entry("InputLayer", "ids", R"("batch_shape": [null, 5])", "");
  input["inbound_nodes"] = Json::array();
  const std::string mask = R"("mask": )";
  const std::string joined = tensor("not_equal") + ", " + tensor("not_equal");
  const std::string units = any_layer + R"(, "units": 2, "return_sequences": )";
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "masked"},
            {"layers",
             {input,
              entry("Embedding", "words", any_layer + R"(, "input_dim": 9, "output_dim": 3, "mask_zero": true)",
                    tensor("ids")),
              entry("NotEqual", "not_equal", "", compared), entry(combining, "joined", "", joined),
              entry("GRU", "first", units + "true", tensor("words"), mask + tensor("not_equal")),
              entry("GRU", "last", units + "false", tensor("first"), mask + tensor("joined"))}},
            {"input_layers", {{"ids", 0, 0}}},
            {"output_layers", {{"last", 0, 0}}}}}};
}

TEST(MaskOperations, AreLeftToTheNetwork) {
  const SymbolicModel model = model_from_config(masked_model(tensor("ids") + ", 0"));
  const Network network(model.inputs, model.outputs, 0);
  std::vector<std::string> names;
  for (const Layer& layer : network.layers()) names.push_back(layer.name());
  EXPECT_THAT(names, testing::ElementsAre("words", "first", "last"));
  const auto result_of = [&](const std::vector<std::int64_t>& ids) {
    return network(Tensor::from(ids, {1, 5}), Mode::inference).to_vector<float>();
  };
  EXPECT_EQ(result_of({4, 7, 0, 0, 0}), result_of({0, 4, 0, 7, 0})) << "masked steps are skipped";
}

TEST(MaskOperations, OfOtherMasksAreRefused) {
  EXPECT_ERROR(InputError,
               "operation 'not_equal' of class NotEqual computes a mask; only those of Embedding with mask_zero and of "
               "Masking can be read",
               model_from_config(masked_model(tensor("ids") + ", 3")));
  EXPECT_ERROR(InputError, "operation 'joined' of class LogicalXor computes a mask",
               model_from_config(masked_model(tensor("ids") + ", 0", "LogicalXor")));
}

TEST(MaskOperations, AreRefusedWhereInitialStatesAreGiven) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& call = model["config"]["layers"][5]["inbound_nodes"][0];
  call["kwargs"]["initial_state"] = Json::parse("[" + tensor("first") + "]");
  EXPECT_ERROR(InputError, "layer 'last' is called with mask = ", model_from_config(model));
  call["kwargs"].erase("initial_state");
  call["args"].push_back(Json::parse(tensor("first")));
  EXPECT_ERROR(InputError, "layer 'last' is called with mask = ", model_from_config(model));
}

}  // namespace
}  // namespace lockstep
