#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/symbol_operators.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/masking.h>
#include <lockstep/models/layers/time_distributed.h>
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

/// The class names of the layers, and the result for ids.
struct Opened {
  std::vector<std::string> classes;
  std::vector<float> result;
};

Opened opened(const Json& config, const std::vector<std::vector<std::int64_t>>& inputs) {
  const SymbolicModel model = model_from_config(config);
  const Network network(model.inputs, model.outputs, 0);
  Opened found;
  for (const Layer& layer : network.layers()) found.classes.emplace_back(layer.impl().class_name());
  std::vector<Tensor> xs;
  for (const std::vector<std::int64_t>& ids : inputs) xs.push_back(Tensor::from(ids, {1, 5}));
  found.result = network.run(xs, Mode::inference).front().to_vector<float>();
  return found;
}

TEST(MaskOperations, OfOtherMasksAreGivenToCalls) {
  const Opened some = opened(masked_model(tensor("ids") + ", 3"), {{4, 7, 3, 3, 3}});
  EXPECT_THAT(some.classes, testing::ElementsAre("Embedding", "NotEqual", "GRU", "GRU"))
      << "the second GRU's input carries its mask";
  EXPECT_EQ(some.result, opened(masked_model(tensor("ids") + ", 3"), {{3, 4, 3, 7, 3}}).result);
  EXPECT_NE(some.result, opened(masked_model(tensor("ids") + ", 0"), {{4, 7, 3, 3, 3}}).result);
  const Opened unlike = opened(masked_model(tensor("ids") + ", 0", "LogicalXor"), {{4, 7, 3, 3, 3}});
  EXPECT_THAT(unlike.classes, testing::ElementsAre("Embedding", "GRU", "NotEqual", "LogicalXor", "GRU"));
  EXPECT_THAT(unlike.result, testing::Each(0)) << "the second GRU skips all steps";
}

TEST(MaskOperations, ThatCannotBeReadAreRefusedWhereTheyAreNeeded) {
  EXPECT_ERROR(InputError, "model 'masked': its outputs depend on a layer that is missing or depends on itself",
               model_from_config(masked_model(tensor("later") + ", 0")));
  EXPECT_ERROR(InputError, "operation 'joined' of class LogicalNand cannot be read; build the model of layers and",
               model_from_config(masked_model(tensor("ids") + ", 0", "LogicalNand")));
  Json model = masked_model(tensor("ids") + ", 0", "LogicalNand");
  model["config"]["layers"][3]["inbound_nodes"][0]["args"][1] = 2;
  EXPECT_ERROR(InputError, "a layer is called with a mask that it would have to compute: layer 'joined' of class",
               model_from_config(model));
}

TEST(MaskOperations, OfAnotherResultAreGivenToCalls) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& layers = model["config"]["layers"];
  layers.insert(layers.begin() + 1, layers[0]);
  layers[1]["name"] = layers[1]["config"]["name"] = "marks";
  model["config"]["input_layers"] = {{"ids", 0, 0}, {"marks", 0, 0}};
  layers[3]["inbound_nodes"][0]["args"][0] = Json::parse(tensor("marks"));
  const Opened some = opened(model, {{4, 7, 1, 2, 3}, {1, 1, 0, 0, 0}});
  EXPECT_THAT(some.classes, testing::ElementsAre("Embedding", "NotEqual", "GRU", "GRU"));
  EXPECT_EQ(some.result, opened(model, {{1, 4, 2, 7, 3}, {0, 1, 0, 1, 0}}).result);
  layers[5]["inbound_nodes"][0]["kwargs"] = {{"mask", Json::parse(tensor("marks"))}};
  layers[6]["inbound_nodes"][0]["kwargs"] = {{"mask", Json::parse(tensor("marks"))}};
  layers.erase(3);
  layers.erase(3);
  const Opened direct = opened(model, {{4, 7, 1, 2, 3}, {1, 1, 0, 0, 0}});
  EXPECT_THAT(direct.classes, testing::ElementsAre("Embedding", "GRU", "GRU"));
  EXPECT_EQ(direct.result, opened(model, {{1, 4, 2, 7, 3}, {0, 1, 0, 1, 0}}).result);
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
  EXPECT_EQ(model_from_config(joined_model("Concatenate", "-1", "either")).layers.size(), 8U)
      << "the operations of a mask that is not carried are kept";
  EXPECT_ERROR(InputError,
               "layer 'last': a call of GRU on (15, 3) needs a mask of the first axes of that shape, got (5)",
               model_from_config(joined_model("Concatenate", "1", "either")));
  EXPECT_EQ(model_from_config(joined_model("Add", "-1", "concatenated")).layers.size(), 16U);
  EXPECT_EQ(model_from_config(joined_model("Add", "-1", "converted")).layers.size(), 6U);
  EXPECT_EQ(model_from_config(joined_model("Add", "-1", "of_words")).layers.size(), 5U);
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

TEST(MaskOperations, AreGivenToCallsWithInitialStates) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& layers = model["config"]["layers"];
  Json state = layers[4];
  state["name"] = state["config"]["name"] = "state";
  state["config"]["return_sequences"] = false;
  layers.insert(layers.begin() + 5, state);
  Json& call = layers[6]["inbound_nodes"][0];
  call["kwargs"]["initial_state"] = Json::parse("[" + tensor("state") + "]");
  const Opened named = opened(model, {{4, 7, 0, 0, 0}});
  EXPECT_EQ(named.result, opened(model, {{0, 4, 0, 7, 0}}).result);
  call["args"].push_back(call["kwargs"]["initial_state"]);
  call["kwargs"].erase("initial_state");
  EXPECT_EQ(opened(model, {{0, 4, 0, 7, 0}}).result, named.result);
  call["args"].push_back(std::exchange(call["kwargs"], Json::object())["mask"]);
  EXPECT_ERROR(InputError, "layer 'last' is called with a mask in order: in Keras, give it by name, mask=...",
               model_from_config(model));
}

TEST(MaskOperations, OfAttentionAreGivenByTheirNames) {
  Json model = masked_model(tensor("ids") + ", 3");
  Json& layers = model["config"]["layers"];
  const auto attention = [&](const std::string& class_name, const std::string& options, const std::string& args,
                             const std::string& kwargs) {
    layers[4] = entry(class_name, "first", any_layer + options, args, kwargs);
    layers[5]["inbound_nodes"][0]["kwargs"] = Json::object();
    return opened(model, {{4, 7, 3, 3, 3}}).result;
  };
  const std::string two = tensor("words") + ", " + tensor("words");
  const std::string mask = tensor("not_equal");
  const std::string heads = R"(, "num_heads": 2, "key_dim": 3)";
  const std::string groups = R"(, "num_query_heads": 2, "num_key_value_heads": 1, "head_dim": 3)";
  for (const auto& [class_name, options] :
       {std::pair("MultiHeadAttention", heads), std::pair("GroupQueryAttention", groups)}) {
    const auto of_call = [&](const std::string& args, const std::string& kwargs) {
      return attention(class_name, options, args, kwargs);
    };
    const std::vector<float> named = of_call(two, R"("value_mask": )" + mask);
    EXPECT_EQ(of_call(two, R"("key_mask": )" + mask), named);
    EXPECT_NE(of_call(two, ""), named);
  }
  EXPECT_ERROR(
      InputError,
      "layer 'first' is called with a query_mask that is not the mask of its query, which Keras ignores: leave "
      "it out, or give an attention_mask",
      attention("MultiHeadAttention", heads, two, R"("query_mask": )" + mask));
  EXPECT_NE(attention("GroupQueryAttention", groups, two, R"("query_mask": )" + mask),
            attention("GroupQueryAttention", groups, two, ""));
  EXPECT_ERROR(InputError, "layer 'first' is called with a mask in order: in Keras, give it by name, mask=...",
               attention("MultiHeadAttention", heads, two + ", null, null, " + mask, ""));
  const std::string list = "[" + two + "]";
  const std::vector<float> of_value = attention("Attention", "", list, R"("mask": [null, )" + mask + "]");
  EXPECT_NE(attention("Attention", "", list, ""), of_value);
  EXPECT_NE(attention("Attention", "", list, R"("mask": [)" + mask + ", " + mask + "]"), of_value);
  EXPECT_ERROR(InputError, "layer 'first' is called with a mask in order: in Keras, give it by name, mask=...",
               attention("Attention", "", list + ", [" + mask + ", " + mask + "]", ""));
}

TEST(MaskOperations, AttentionReadsNoMasksIfItIsGivenNone) {
  Json model = masked_model(tensor("ids") + ", 3");
  Json& layers = model["config"]["layers"];
  const auto attention = [&](const std::string& mask) {
    layers[4] = entry("Attention", "first", any_layer, "[" + tensor("words") + ", " + tensor("words") + "]", mask);
    layers[5]["inbound_nodes"][0]["kwargs"] = Json::object();
    return opened(model, {{4, 7, 0, 0, 0}}).result;
  };
  const std::vector<float> none = attention(R"("mask": [null, null])");
  EXPECT_NE(attention(""), none);
  layers[1]["config"]["mask_zero"] = false;
  EXPECT_EQ(attention(""), none);
}

TEST(MaskOperations, ThatALayerIsToIgnoreCannotBeWritten) {
  const Symbol x = Input({5, 2});
  const Symbol y = GRU({.units = 2, .name = "blind"})({Masking()(x)}, {std::nullopt});
  const Network network({x}, {y}, 0);
  EXPECT_ERROR(Unsupported,
               "layer 'blind' is called without the mask of its input, which Keras' files cannot express: give it a "
               "mask that is true everywhere",
               network_config(saved_keras_model(network, "masked")));
}

/// masked_model without masks, whose output is `last`, a layer named "first".
Json unmasked_model(const Json& last) {
  Json model = masked_model(tensor("ids") + ", 0");
  Json& layers = model["config"]["layers"];
  layers[1]["config"]["mask_zero"] = false;
  layers.erase(layers.begin() + 2, layers.end());
  layers.push_back(last);
  model["config"]["output_layers"] = {{"first", 0, 0}};
  return model;
}

TEST(MaskOperations, OfNumbersAreTrueUnlessZero) {
  const auto mean = [](const std::string& kwargs, const std::vector<std::int64_t>& ids) {
    return opened(unmasked_model(entry("GlobalAveragePooling1D", "first", any_layer, tensor("words"), kwargs)), {ids})
        .result;
  };
  const std::string mask = R"("mask": )" + tensor("ids");
  EXPECT_EQ(mean(mask, {4, 7, 0, 0, 0}), mean(mask, {7, 0, 4, 0, 0}));
  EXPECT_EQ(mean(mask, {4, 0, 0, 0, 0}), mean("", {4, 4, 4, 4, 4}));
  EXPECT_NE(mean(mask, {4, 0, 0, 0, 0}), mean("", {4, 0, 0, 0, 0}));
}

TEST(MaskOperations, OfNumbersAreNotGivenToTimeDistributedSoftmax) {
  Json mask = Json::parse(tensor("words"));
  mask["config"]["shape"] = {nullptr, 5, 3};
  const std::string softmax = R"(, "layer": {"class_name": "Softmax", "config": {"name": "shares"}})";
  Json without_shape = mask;
  without_shape["config"].erase("shape");
  for (const Json& given : {mask, Json::array({mask}), without_shape}) {
    const Json model = unmasked_model(
        entry("TimeDistributed", "first", any_layer + softmax, tensor("words"), R"("mask": )" + given.dump()));
    EXPECT_ERROR(InputError,
                 "layer 'first' is called with a mask of numbers, which a Softmax of Keras compares with 0.5 and other "
                 "layers with 0: give it a comparison, such as mask > 0.5",
                 model_from_config(model));
  }
  const Symbol x = Input({5, 3});
  const Network network({x}, {TimeDistributed(Softmax({.name = "shares"}))({x}, {x * 1})}, 0);
  EXPECT_ERROR(Unsupported, "is given a mask of numbers, which a Softmax of Keras compares with 0.5",
               network_config(saved_keras_model(network, "masked")));
}

TEST(MaskOperations, AreNotGivenToModels) {
  Json model = shared_model(entry("GRU", "last", any_layer + R"(, "units": 2)", tensor("x")));
  Json& layers = model["config"]["layers"];
  layers.push_back(entry("NotEqual", "not_equal", "", tensor("ids") + ", 3"));
  for (Json& layer : layers)
    if (layer["name"] == "inner") layer["inbound_nodes"][1]["kwargs"] = {{"mask", Json::parse(tensor("not_equal"))}};
  EXPECT_ERROR(
      InputError,
      "model 'inner' is called with a mask that is not the mask of its input: give it to the layers inside the "
      "model, as a further input",
      model_from_config(model));
}

TEST(MaskOperations, AreWrittenAsTheyAreRead) {
  Json model = masked_model(tensor("ids") + ", 3");
  const SymbolicModel read = model_from_config(model);
  const Network network(read.inputs, read.outputs, 0);
  const Json written = network_config(saved_keras_model(network, "masked"));
  const std::vector<std::vector<std::int64_t>> ids{{4, 3, 7, 3, 3}};
  EXPECT_EQ(opened(written, ids).result, opened(model, ids).result);
  for (const Json& layer : written["config"]["layers"]) {
    if (layer["name"] != "first") continue;
    const Json& node = layer["inbound_nodes"][0];
    EXPECT_EQ(node["args"].size(), 1U);
    EXPECT_EQ(node["kwargs"]["mask"]["config"]["dtype"], "bool");
    EXPECT_EQ(node["kwargs"]["mask"]["config"]["keras_history"], Json({"not_equal", 0, 0}));
  }
}

}  // namespace
}  // namespace lockstep
