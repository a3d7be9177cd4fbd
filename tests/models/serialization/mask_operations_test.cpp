#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/network_config.h>
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
  const std::string first =
      "layer 'first' is called with a mask that is not the mask of its input; only that can be read: make the mask "
      "with "
      "Masking, or Embedding with mask_zero, before the layer";
  EXPECT_ERROR(InputError, first, model_from_config(masked_model(tensor("ids") + ", 3")));
  EXPECT_ERROR(InputError, first, model_from_config(masked_model(tensor("later") + ", 0")));
  EXPECT_ERROR(InputError, "layer 'last' is called with a mask that is not the mask of its input",
               model_from_config(masked_model(tensor("ids") + ", 0", "LogicalXor")));
}

TEST(MaskOperations, OfAnotherResultAreRefused) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& layers = model["config"]["layers"];
  layers.insert(layers.begin() + 1, layers[0]);
  layers[1]["name"] = layers[1]["config"]["name"] = "marks";
  model["config"]["input_layers"] = {{"ids", 0, 0}, {"marks", 0, 0}};
  Json others = layers[2];
  others["name"] = others["config"]["name"] = "others";
  others["inbound_nodes"][0]["args"][0] = Json::parse(tensor("marks"));
  layers.insert(layers.begin() + 3, others);
  layers[4]["inbound_nodes"][0]["args"][0] = Json::parse(tensor("marks"));
  EXPECT_ERROR(InputError, "layer 'first' is called with a mask that is not the mask of its input",
               model_from_config(model));
}

/// masked_model with a Softmax of the ids, of these arguments, and another layer, which is an output.
Json softmax_model(const std::string& args, const std::string& kwargs, const Json& read) {
  Json model = masked_model(tensor("ids") + ", 0");
  model["config"]["layers"].push_back(entry("Softmax", "shares", any_layer, args, kwargs));
  model["config"]["layers"].push_back(read);
  model["config"]["output_layers"] = {{read["name"], 0, 0}, {"last", 0, 0}};
  return model;
}

TEST(MaskOperations, OfSoftmaxAreInputs) {
  const Json dense = entry("Dense", "read", any_layer + R"(, "units": 2)", tensor("shares"));
  Json model = softmax_model(tensor("ids") + ", " + tensor("not_equal"), "", dense);
  model["config"]["output_layers"] = {{"shares", 0, 0}, {"read", 0, 0}, {"last", 0, 0}};
  const SymbolicModel opened = model_from_config(model);
  const Network network(opened.inputs, opened.outputs, 0);
  const Tensor ids = Tensor::from<float>({3, 3, 0, 0, 0}, {1, 5});
  EXPECT_THAT(network.run({ids}, Mode::inference).at(0).to_vector<float>(), testing::ElementsAre(0.5, 0.5, 0, 0, 0));
  const Json saved = network_config(saved_keras_model(network, "masked"));
  for (const Json& layer : saved["config"]["layers"]) {
    if (layer["name"] != "shares") continue;
    EXPECT_EQ(layer["inbound_nodes"][0]["args"].size(), 2U) << "a mask given by name would be that of the result";
    EXPECT_EQ(layer["inbound_nodes"][0]["kwargs"], Json::object());
  }
}

TEST(MaskOperations, OfSoftmaxByNameAreThoseOfItsResult) {
  const auto open = [](const Json& read) {
    return model_from_config(softmax_model(tensor("ids"), R"("mask": )" + tensor("not_equal"), read));
  };
  const std::string mask =
      "the mask that a Softmax is given by name, which only in Keras is the mask of its result: give it in order, "
      "Softmax()(x, mask), or use an operation, such as x * 1, on the result";
  EXPECT_ERROR(InputError, "the model's output would have " + mask,
               open(entry("Dense", "read", any_layer + R"(, "units": 2)", tensor("shares"))));
  EXPECT_ERROR(InputError, "the model's output would have " + mask,
               open(entry("Add", "read", any_layer, "[" + tensor("shares") + ", " + tensor("shares") + "]")));
  EXPECT_ERROR(InputError, "layer 'read' would read " + mask,
               open(entry("BatchNormalization", "read", any_layer, tensor("shares"))));
  EXPECT_EQ(open(entry("Flatten", "read", any_layer, tensor("shares"))).layers.size(), 6U) << "nothing reads the mask";
  EXPECT_EQ(open(entry("Multiply", "read", "", tensor("shares") + ", 1.0")).layers.size(), 6U)
      << "an operation drops the mask";
}

/// Joins the results of Embedding, Masking and an input without a mask, as Keras 3.15 saves it; `masked`: the mask
/// given to the last layer.
Json joined_model(const std::string& join, const std::string& axis, const std::string& masked) {
  Json ids = entry("InputLayer", "ids", R"("batch_shape": [null, 5])", "");
  Json values = entry("InputLayer", "values", R"("batch_shape": [null, 5, 3])", "");
  ids["inbound_nodes"] = values["inbound_nodes"] = Json::array();
  const auto wide = [](const std::string& mask, const std::string& of) {
    return std::vector{
        entry("ExpandDims", "wide_" + mask, R"("axis": -1)", tensor(mask)),
        entry("ZerosLike", "zeros_" + mask, R"("dtype": "bool")", tensor(of)),
        entry("LogicalOr", "broad_" + mask, "", tensor("wide_" + mask) + ", " + tensor("zeros_" + mask))};
  };
  Json layers{ids, values};
  layers.push_back(entry("Embedding", "words", any_layer + R"(, "input_dim": 9, "output_dim": 3, "mask_zero": true)",
                         tensor("ids")));
  layers.push_back(entry("Masking", "kept", any_layer + R"(, "mask_value": 0.5)", tensor("values")));
  layers.push_back(entry("NotEqual", "of_words", "", tensor("ids") + ", 0"));
  if (masked != "of_words" && masked != "converted") {
    layers.push_back(entry("NotEqual", "elements", "", tensor("values") + ", 0.5"));
    layers.push_back(entry("Any", "of_kept", R"("axis": -1, "keepdims": false)", tensor("elements")));
  }
  if (masked == "either")
    layers.push_back(entry("LogicalOr", "either", "", tensor("of_kept") + ", " + tensor("of_words")));
  if (masked == "converted")
    layers.push_back(
        entry("ConvertToTensor", "converted", R"("dtype": null, "sparse": null, "ragged": null)", tensor("of_words")));
  if (masked == "concatenated") {
    for (const Json& operation : wide("of_words", "words")) layers.push_back(operation);
    for (const Json& operation : wide("of_kept", "kept")) layers.push_back(operation);
    layers.push_back(entry("OnesLike", "ones", R"("dtype": "bool")", tensor("values")));
    const std::string parts = tensor("broad_of_words") + ", " + tensor("broad_of_kept") + ", " + tensor("ones");
    layers.push_back(entry("Concatenate", "parts", "\"axis\": " + axis, "[" + parts + "]"));
    layers.push_back(entry("Any", "concatenated", R"("axis": -1, "keepdims": false)", tensor("parts")));
  }
  const std::string third = join == "Concatenate" ? ", " + tensor("values") : "";
  layers.push_back(entry(join, "joined", any_layer + (third.empty() ? "" : ", \"axis\": " + axis),
                         "[" + tensor("words") + ", " + tensor("kept") + third + "]"));
  layers.push_back(
      entry("GRU", "last", any_layer + R"(, "units": 2)", tensor("joined"), "\"mask\": " + tensor(masked)));
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "joined"},
            {"layers", layers},
            {"input_layers", {{"ids", 0, 0}, {"values", 0, 0}}},
            {"output_layers", {{"last", 0, 0}}}}}};
}

TEST(MaskOperations, AreThoseOfLayersThatJoinMasks) {
  EXPECT_EQ(model_from_config(joined_model("Add", "-1", "either")).layers.size(), 4U);
  EXPECT_EQ(model_from_config(joined_model("Attention", "-1", "converted")).layers.size(), 4U);
  EXPECT_EQ(model_from_config(joined_model("Concatenate", "-1", "concatenated")).layers.size(), 4U);
  EXPECT_EQ(model_from_config(joined_model("Concatenate", "1", "concatenated")).layers.size(), 4U);
  for (const char* axis : {"-1", "1"})
    EXPECT_ERROR(InputError, "layer 'last' is called with a mask that is not the mask of its input",
                 model_from_config(joined_model("Concatenate", axis, "either")));
  for (const char* mask : {"concatenated", "converted", "of_words"})
    EXPECT_ERROR(InputError, "layer 'last' is called with a mask that is not the mask of its input",
                 model_from_config(joined_model("Add", "-1", mask)));
}

/// As Keras saves Embedding -> x * 2 -> `layer`.
Json dropped_model(const Json& layer) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& layers = model["config"]["layers"];
  layers = {layers[0], layers[1], entry("Multiply", "scaled", "", tensor("words") + ", 2.0"), layer};
  model["config"]["output_layers"] = {{layer["name"], 0, 0}};
  return model;
}

/// A model of x * 2 -> `last` that is called on the results of an Input and, after that, of Embedding with mask_zero.
Json shared_model(const Json& last) {
  const auto input = [](const std::string& name, const std::string& shape) {
    Json layer = entry("InputLayer", name, R"("batch_shape": [null, 5)" + shape + "]", "");
    layer["inbound_nodes"] = Json::array();
    return layer;
  };
  const auto model_of = [](const std::string& name, const Json& layers, const Json& inputs, const Json& outputs) {
    return Json{{"class_name", "Functional"},
                {"name", name},
                {"config", {{"name", name}, {"layers", layers}, {"input_layers", inputs}, {"output_layers", outputs}}}};
  };
  Json inner = model_of("inner", {input("x", ", 3"), entry("Multiply", "scaled", "", tensor("x") + ", 2.0"), last},
                        {{"x", 0, 0}}, {{"last", 0, 0}});
  for (const char* given : {"values", "words"})
    inner["inbound_nodes"].push_back({{"args", {Json::parse(tensor(given))}}, {"kwargs", Json::object()}});
  const Json words =
      entry("Embedding", "words", any_layer + R"(, "input_dim": 9, "output_dim": 3, "mask_zero": true)", tensor("ids"));
  return model_of("outer", {input("ids", ""), input("values", ", 3"), words, inner}, {{"ids", 0, 0}, {"values", 0, 0}},
                  {{"inner", 1, 0}, {"inner", 2, 0}});
}

/// The class of the layer that an operation of such a model becomes.
std::string class_of_scaled(const Json& model) {
  return std::string(model_from_config(model).layers.at(1).layer.impl().class_name());
}

TEST(MaskOperations, OperationsOnMaskedResultsHaveNoMask) {
  const Json gru = dropped_model(entry("GRU", "last", any_layer + R"(, "units": 2)", tensor("scaled")));
  EXPECT_EQ(class_of_scaled(gru), "Multiply") << "not Rescaling, which would pass the mask on";
  const SymbolicModel model = model_from_config(gru);
  const Network network(model.inputs, model.outputs, 0);
  const auto result_of = [&](const std::vector<std::int64_t>& ids) {
    return network(Tensor::from(ids, {1, 5}), Mode::inference).to_vector<float>();
  };
  EXPECT_NE(result_of({4, 7, 0, 0, 0}), result_of({0, 4, 0, 7, 0})) << "no step is skipped";
  for (const Json& masked : {entry("BatchNormalization", "last", any_layer, tensor("scaled")),
                             entry("Dense", "last", any_layer + R"(, "units": 2)", tensor("scaled"))})
    EXPECT_EQ(class_of_scaled(dropped_model(masked)), "Multiply") << masked["class_name"];
}

TEST(MaskOperations, OperationsBecomeLayersWhereNothingReadsTheMask) {
  const Json flat = entry("Flatten", "last", any_layer, tensor("scaled"));
  EXPECT_EQ(class_of_scaled(dropped_model(flat)), "Rescaling");
  EXPECT_EQ(class_of_scaled(shared_model(flat)), "Rescaling");
}

TEST(MaskOperations, SoftmaxReadsOnlyTheMaskThatItIsGivenAndAsOperationNone) {
  const Json model = dropped_model(entry("Flatten", "last", any_layer, tensor("shares")));
  const auto class_before = [&](const std::string& args, const std::string& kwargs,
                                const std::string& options = any_layer) {
    Json with_softmax = model;
    with_softmax["config"]["layers"].push_back(entry("Softmax", "shares", options, args, kwargs));
    return class_of_scaled(with_softmax);
  };
  EXPECT_EQ(class_before(tensor("scaled") + ", " + tensor("words"), ""), "Rescaling");
  EXPECT_EQ(class_before(tensor("scaled"), R"("mask": )" + tensor("words")), "Rescaling");
  EXPECT_EQ(class_before(tensor("scaled"), "", R"("axis": -1)"), "Rescaling");
  EXPECT_EQ(class_before(tensor("scaled"), ""), "Multiply");
}

TEST(MaskOperations, OperationsOnResultsWithAndWithoutMasksHaveNoMask) {
  for (const char* class_name : {"GRU", "Dense"}) {
    const Json last = entry(class_name, "last", any_layer + R"(, "units": 2)", tensor("scaled"));
    EXPECT_EQ(class_of_scaled(shared_model(last)), "Multiply") << class_name;
  }
}

TEST(MaskOperations, OperationsOfSeveralCallsOnMaskedResultsAreRefused) {
  Json model = dropped_model(entry("GRU", "last", any_layer + R"(, "units": 2)", tensor("scaled")));
  Json& operation = model["config"]["layers"][2];
  operation["inbound_nodes"][0]["args"] = Json::parse("[" + tensor("words") + ", " + tensor("words") + "]");
  operation["inbound_nodes"].push_back(operation["inbound_nodes"][0]);
  EXPECT_ERROR(InputError,
               "operation 'scaled' of class Multiply has a result without a mask in Keras, which a layer or an output "
               "would get here: make another operation for each call",
               model_from_config(model));
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
