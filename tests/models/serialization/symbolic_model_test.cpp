#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/single_head_attention.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

Network network_of(const SymbolicModel& model) { return {model.inputs, model.outputs, 0}; }

std::vector<std::string> groups_of(const SymbolicModel& model) {
  std::vector<std::string> groups;
  for (const SavedLayer& saved : model.layers)
    groups.push_back(saved.top_level + " " + saved.layer.name() + " " + saved.group);
  return groups;
}

Json dense(const std::string& name, int units, const char* nodes) {
  return {{"class_name", "Dense"},
          {"config", {{"name", name}, {"units", units}, {"activation", "relu"}}},
          {"name", name},
          {"inbound_nodes", Json::parse(nodes)}};
}

Json input(const std::string& name, const char* shape) {
  return {{"class_name", "InputLayer"},
          {"config", {{"name", name}, {"batch_input_shape", Json::parse(shape)}}},
          {"name", name},
          {"inbound_nodes", Json::array()}};
}

/// A model in Keras 2's form.
Json model_of(const char* class_name, const std::string& name, Json layers, const char* inputs, const char* outputs) {
  return {{"class_name", class_name},
          {"config",
           {{"name", name},
            {"layers", std::move(layers)},
            {"input_layers", Json::parse(inputs)},
            {"output_layers", Json::parse(outputs)}}}};
}

/// x -> first -> second.
Json template_config() {
  return model_of("Model", "template",
                  {input("x", "[null, 4]"), dense("first", 3, R"([[["x", 0, 0, {}]]])"),
                   dense("second", 2, R"([[["first", 0, 0, {}]]])")},
                  R"([["x", 0, 0]])", R"([["second", 0, 0]])");
}

std::vector<std::string> names_of(const NestedModel& model) {
  std::vector<std::string> names;
  for (const Layer& layer : layers_of(model)) names.push_back(layer.name());
  return names;
}

TEST(SymbolicModel, IsTheNetworkThatWasDescribed) {
  const Symbol left = Input({4}, "left");
  const Symbol right = Input({4}, "right");
  const Dense shared({.units = 4, .kernel_regularizer = L2(0.5)});
  const Symbol once = shared(left);
  const Symbol twice = shared(ActivationLayer(Activation::tanh)(once));
  const Symbol sum = Add()({twice, shared(right)});
  const Network network({left, right}, std::vector{Concatenate()({sum, once}), twice}, 1);
  const Json config = network_config(keras_model(network, "several"));
  const SymbolicModel opened = model_from_config(config);
  EXPECT_EQ(opened.name, "several");
  const Network again = network_of(opened);
  EXPECT_EQ(network_config(keras_model(again, "several")), config);
  for (std::size_t i = 0; i < network.variables().size(); ++i)
    again.variables()[i].assign(network.variables()[i].value());
  const std::vector<Tensor> xs{test::random_tensor({3, 4}, 1), test::random_tensor({3, 4}, 2)};
  for (std::size_t i = 0; i < 2; ++i)
    test::expect_same_bits(again.run(xs, Mode::inference)[i], network.run(xs, Mode::inference)[i]);
}

TEST(SymbolicModel, WritesWhatKerasWritesOfACall) {
  const Symbol x = Input({5}, "x");
  const Network network(x, Dense({.units = 1, .name = "y"})(x), 0);
  const Json config = network_config(keras_model(network, "functional"))["config"];
  EXPECT_EQ(config["layers"][1]["inbound_nodes"],
            Json::parse(R"([{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 5],
                "dtype": "float32", "keras_history": ["x", 0, 0]}}], "kwargs": {}}])"));
  EXPECT_EQ(config["input_layers"], Json::parse(R"(["x", 0, 0])"));
  EXPECT_EQ(config["output_layers"], Json::parse(R"(["y", 0, 0])"));
  EXPECT_FALSE(
      network_config(keras_model(network, "functional"), ConfigForm::legacy_h5)["config"]["layers"][1].contains(
          "module"));
}

TEST(SymbolicModel, HasNullForUnknownSizes) {
  const Symbol x = Input({-1, 5}, "x");
  const Network network(x, Dense({.units = 1, .name = "y"})(x), 0);
  const Json config = network_config(keras_model(network, "functional"));
  EXPECT_EQ(config["config"]["layers"][0]["config"]["batch_shape"], Json::parse("[null, null, 5]"));
  const Network again = network_of(model_from_config(config));
  EXPECT_EQ(again.input_shape(), Shape({-1, 5}));
  EXPECT_EQ(again.output_shape(), Shape({-1, 1}));
}

TEST(SymbolicModel, HasNullForUnknownSizesOfAModelInTheModel) {
  Json inner = model_of("Model", "inner",
                        {input("y", "[null, null, 4]"), dense("first", 3, R"([[["y", 0, 0, {}]]])"),
                         dense("second", 2, R"([[["first", 0, 0, {}]]])")},
                        R"([["y", 0, 0]])", R"([["second", 0, 0]])");
  inner["name"] = "inner";
  inner["inbound_nodes"] = Json::parse(R"([[["x", 0, 0, {}]], [["z", 0, 0, {}]]])");
  const Json model = model_of("Model", "outer", {input("x", "[null, 5, 4]"), input("z", "[null, 6, 4]"), inner},
                              R"([["x", 0, 0], ["z", 0, 0]])", R"([["inner", 1, 0], ["inner", 2, 0]])");
  const Network network = network_of(model_from_config(model));
  EXPECT_EQ(network.output_shape(), Shape({5, 2}));
  const Json written = network_config(keras_model(network, "outer"));
  const Json layers = written["config"]["layers"][2]["config"]["layers"];
  EXPECT_EQ(layers[0]["config"]["batch_shape"], Json::parse("[null, null, 4]"));
  EXPECT_EQ(layers[2]["inbound_nodes"][0]["args"][0]["config"]["shape"], Json::parse("[null, null, 3]"));
}

/// A model of layers of attention with every argument of a call.
Network attention_network() {
  const Symbol x = Input({5, 4}, "x");
  const Symbol mask = Input({5, 5}, "mask");
  const Symbol y = MultiHeadAttention({.num_heads = 2, .key_dim = 3, .name = "a"})(x, x, {.use_causal_mask = true});
  const GroupQueryAttention groups({.head_dim = 3, .num_query_heads = 2, .num_key_value_heads = 1, .name = "b"});
  return {{x, mask}, groups(y, x, {.key = y, .attention_mask = mask}), 0};
}

TEST(SymbolicModel, WritesTheArgumentsOfAttention) {
  const Json config = network_config(keras_model(attention_network(), "functional"))["config"];
  const auto names = [](const Json& tensors) {
    std::vector<std::string> result;
    for (const Json& tensor : tensors) result.push_back(tensor["config"]["keras_history"][0]);
    return result;
  };
  const Json causal = config["layers"][2]["inbound_nodes"][0];
  EXPECT_THAT(names(causal["args"]), ElementsAre("x", "x"));
  EXPECT_EQ(causal["kwargs"], Json({{"use_causal_mask", true}}));
  const Json masked = config["layers"][3]["inbound_nodes"][0];
  EXPECT_THAT(names(masked["args"]), ElementsAre("a", "x", "a"));
  EXPECT_THAT(names(masked["kwargs"]), ElementsAre("mask"));
  EXPECT_TRUE(masked["kwargs"].contains("attention_mask"));
}

TEST(SymbolicModel, CallsAttentionAsItWasCalled) {
  const Network network = attention_network();
  const Network again = network_of(model_from_config(network_config(keras_model(network, "functional"))));
  const std::vector<Tensor> xs{test::random_tensor({3, 5, 4}, 1), relu(test::random_tensor({3, 5, 5}, 2))};
  test::expect_same_bits(again(xs, Mode::inference), network(xs, Mode::inference));
}

/// A model in the model returns the scores of "a" and "b", but not those of "unread".
Network network_of_scores() {
  const Symbol x = Input({5, 4}, "x");
  const std::vector<Symbol> heads = MultiHeadAttention({.num_heads = 2, .key_dim = 3, .name = "a"}).results(x, x, {});
  const std::vector<Symbol> one = Attention({.name = "b"}).results(heads[0], x, {.use_causal_mask = true});
  const GroupQueryAttention unread({.head_dim = 3, .num_query_heads = 2, .num_key_value_heads = 1, .name = "unread"});
  const Network inner({x}, {unread(one[0], x), heads[1], one[1]}, 0);
  const Symbol y = Input({5, 4}, "y");
  return {{y}, inner.connect({y}, std::make_shared<NestedModel>(keras_model(inner, "inner"))), 0};
}

TEST(SymbolicModel, HasTheScoresOfAttentionThatAreUsed) {
  const Network network = network_of_scores();
  const Json written = network_config(keras_model(network, "outer"));
  const Json layers = written["config"]["layers"][1]["config"]["layers"];
  const auto arguments = [&](int layer) { return layers[layer]["inbound_nodes"][0]["kwargs"]; };
  EXPECT_EQ(arguments(1), Json({{"return_attention_scores", true}}));
  EXPECT_EQ(arguments(2), Json({{"return_attention_scores", true}, {"use_causal_mask", true}}));
  EXPECT_EQ(arguments(3), Json::object());
  const Network again = network_of(model_from_config(written));
  EXPECT_EQ(network_config(keras_model(again, "outer")), written);
  for (const GraphCall& call : again.calls())
    EXPECT_TRUE(call.result == 0 || again.layers()[static_cast<std::size_t>(call.layer)].name() != "unread");
  const Tensor x = test::random_tensor({3, 5, 4}, 1);
  const std::vector<Tensor> expected = network.run({x}, Mode::inference);
  const std::vector<Tensor> actual = again.run({x}, Mode::inference);
  ASSERT_EQ(actual.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) test::expect_same_bits(actual[i], expected[i]);
}

/// A model of x, y, z and mask with a layer of attention that is called as the node says.
Json attention_config(const char* node) {
  Json attention{{"class_name", "MultiHeadAttention"},
                 {"config", {{"name", "a"}, {"num_heads", 2}, {"key_dim", 3}}},
                 {"name", "a"},
                 {"inbound_nodes", Json::array({Json::parse(node)})}};
  Json ends{{"class_name", "Concatenate"}, {"config", {{"name", "end"}, {"axis", 1}}}, {"name", "end"}};
  ends["inbound_nodes"] = Json::parse(R"([[["a", 0, 0], ["x", 0, 0], ["y", 0, 0], ["z", 0, 0], ["mask", 0, 0]]])");
  const char* const shape = "[null, 4, 4]";
  return model_of("Model", "m",
                  {input("x", shape), input("y", shape), input("z", shape), input("mask", shape), attention, ends},
                  R"([["x", 0, 0], ["y", 0, 0], ["z", 0, 0], ["mask", 0, 0]])", R"([["end", 0, 0]])");
}

TEST(SymbolicModel, ReadsEveryFormOfACallOfAttention) {
  const auto inputs_of = [](const char* node) {
    const Network network = network_of(model_from_config(attention_config(node)));
    return network.calls()[0].inputs;
  };
  const char* const tensor = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["%", 0, 0]}})";
  const auto keras_3 = [&](std::string node) {
    for (const std::string name : {"x", "y", "z", "mask"}) {
      std::string whole = tensor;
      whole.replace(whole.find('%'), 1, name);
      for (std::size_t at = node.find("<" + name + ">"); at != std::string::npos; at = node.find("<" + name + ">"))
        node.replace(at, name.size() + 2, whole);
    }
    return inputs_of(node.c_str());
  };
  EXPECT_THAT(keras_3(R"({"args": [<x>, <y>], "kwargs": {}})"), ElementsAre(-1, -2));
  EXPECT_THAT(keras_3(R"({"args": [<x>], "kwargs": {"value": <y>, "key": <z>}})"), ElementsAre(-1, -2, -3));
  EXPECT_THAT(keras_3(R"({"args": [<x>, <y>], "kwargs": {"attention_mask": <mask>}})"), ElementsAre(-1, -2, -2, -4));
  EXPECT_THAT(keras_3(R"({"args": [<x>, <y>, <z>, null, null, null, <mask>, false], "kwargs": {"training": null}})"),
              ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(inputs_of(R"([["x", 0, 0, {"value": ["y", 0, 0], "attention_mask": ["mask", 0, 0]}]])"),
              ElementsAre(-1, -2, -2, -4));
  EXPECT_ERROR(InputError, "layer 'a' is called without value", inputs_of(R"([["x", 0, 0, {}]])"));
  EXPECT_ERROR(InputError, "layer 'a' is called with query_mask; only query, value, key and attention_mask can be",
               inputs_of(R"([["x", 0, 0, {"value": ["y", 0, 0], "query_mask": ["mask", 0, 0]}]])"));
  EXPECT_THAT(inputs_of(R"([["x", 0, 0, {"value": ["y", 0, 0], "return_attention_scores": true}]])"),
              ElementsAre(-1, -2));
  EXPECT_ERROR(InputError, "layer 'a' is called with return_attention_scores = 1",
               inputs_of(R"([["x", 0, 0, {"value": ["y", 0, 0], "return_attention_scores": 1}]])"));
}

TEST(SymbolicModel, IsASequentialModel) {
  const auto sequential = [](Json layers) {
    return Json{{"class_name", "Sequential"}, {"config", {{"name", "s"}, {"layers", std::move(layers)}}}};
  };
  const Json inner = sequential({dense("first", 3, "[]"), dense("last", 2, "[]")});
  Json first = dense("first", 4, "[]");
  first["config"]["batch_input_shape"] = {nullptr, 5};
  const SymbolicModel model = model_from_config(sequential({first, inner}));
  EXPECT_THAT(groups_of(model), ElementsAre("first first layers/dense", "s s_first layers/sequential/layers/dense",
                                            "s last layers/sequential/layers/dense_1"));
  EXPECT_EQ(network_of(model).output_shape(), Shape{2});
  EXPECT_ERROR(InputError, "input 'first_input' has no shape", model_from_config(inner));
}

TEST(SymbolicModel, IsOpenedInTheTimeThatItsLayersTakeInAnyOrder) {
  constexpr int layers = 20'000;
  Json list = Json::array({dense("d0", 4, R"([[["x", 0, 0, {}]]])")});
  for (int i = 1; i < layers; ++i)
    list.push_back(dense(fmt::format("d{}", i), 4, fmt::format(R"([[["d{}", 0, 0, {{}}]]])", i - 1).c_str()));
  std::reverse(list.begin(), list.end());
  list.insert(list.begin(), input("x", "[null, 4]"));
  const std::string output = fmt::format(R"([["d{}", 0, 0]])", layers - 1);
  EXPECT_EQ(model_from_config(model_of("Model", "m", list, R"([["x", 0, 0]])", output.c_str())).layers.size(),
            std::size_t{layers});
}

TEST(SymbolicModel, CallsALayerInTheModeThatTheCallWasGiven) {
  const auto dropout = [](const char* name, const char* nodes) {
    return Json{{"class_name", "Dropout"},
                {"config", {{"name", name}, {"rate", 0.5}}},
                {"name", name},
                {"inbound_nodes", Json::parse(nodes)}};
  };
  Json inner = model_of("Model", "inner",
                        {input("y", "[null, 400]"), dropout("always", R"([[["y", 0, 0, {"training": true}]]])"),
                         dropout("never", R"([[["always", 0, 0, {}]]])")},
                        R"([["y", 0, 0]])", R"([["never", 0, 0]])");
  inner["name"] = "inner";
  inner["inbound_nodes"] = Json::parse(R"([[["x", 0, 0, {"training": false}]]])");
  const Json model =
      model_of("Model", "outer", {input("x", "[null, 400]"), inner}, R"([["x", 0, 0]])", R"([["inner", 1, 0]])");
  const Network network = network_of(model_from_config(model));
  EXPECT_EQ(network.calls()[0].mode, Mode::train);
  EXPECT_EQ(network.calls()[1].mode, Mode::inference);
  for (const Mode mode : {Mode::inference, Mode::train}) {
    const std::vector<float> y = network(Tensor::full({1, 400}, 1), mode).to_vector<float>();
    EXPECT_THAT(std::set<float>(y.begin(), y.end()), ElementsAre(0, 2)) << "dropped by one layer of the two";
  }
  const Json written = network_config(flat_keras_model(network, "outer"));
  EXPECT_EQ(written["config"]["layers"][1]["inbound_nodes"][0]["kwargs"], Json::parse(R"({"training": true})"));
  const Json nested = network_config(keras_model(network, "outer"))["config"]["layers"][1];
  EXPECT_EQ(nested["inbound_nodes"][0]["kwargs"], Json::parse(R"({"training": false})"));
  const Json layers = nested["config"]["layers"];
  EXPECT_EQ(layers[1]["inbound_nodes"][0]["kwargs"], Json::parse(R"({"training": true})"));
  EXPECT_EQ(layers[2]["inbound_nodes"][0]["kwargs"], Json::object());
}

// As in Keras 3: a nested model's trainable flag is only what its layers had when it was set.
TEST(SymbolicModel, TrainsNoLayerOfAnOutermostModelThatDoesNotTrain) {
  const auto trainable_weights = [](bool outer_trains, bool inner_trains) {
    Json inner = template_config();
    inner["name"] = "inner";
    inner["config"]["trainable"] = inner_trains;
    inner["inbound_nodes"] = Json::parse(R"([[["first", 0, 0, {}]]])");
    Json model =
        model_of("Model", "outer", {input("x", "[null, 7]"), dense("first", 4, R"([[["x", 0, 0, {}]]])"), inner},
                 R"([["x", 0, 0]])", R"([["inner", 1, 0]])");
    model["config"]["trainable"] = outer_trains;
    return network_of(model_from_config(model)).trainable_variables().size();
  };
  EXPECT_EQ(trainable_weights(true, true), 6U);
  EXPECT_EQ(trainable_weights(true, false), 6U);
  EXPECT_EQ(trainable_weights(false, true), 0U);
}

TEST(SymbolicModel, NamesOutputsAfterTheModelsThatGiveThem) {
  Json inner = template_config();
  inner["name"] = "inner";
  inner["inbound_nodes"] = Json::parse(R"([[["a", 0, 0, {}]], [["b", 0, 0, {}]]])");
  const Json model = model_of("Model", "outer", {input("a", "[null, 4]"), input("b", "[null, 4]"), inner},
                              R"([["a", 0, 0], ["b", 0, 0]])", R"([["inner", 1, 0], ["inner", 2, 0]])");
  EXPECT_THAT(network_of(model_from_config(model)).output_names(), ElementsAre("inner", "inner_1"));
}

TEST(FileNames, HaveNoSlash) {
  const Symbol x = Input({2}, "in/x");
  const Symbol y = Dense({.units = 2, .name = "a/b"})(Dense({.units = 2, .name = "a_b"})(x));
  const Network network(x, Dense({.units = 2, .name = "plain"})(y), 0);
  const NestedModel named = with_file_names(keras_model(network, "my/model"), ConfigForm::keras_3);
  EXPECT_EQ(named.name, "my_model");
  EXPECT_EQ(named.inputs[0].name, "in_x");
  EXPECT_THAT(names_of(named), ElementsAre("a_b", "a_b_1", "plain"));
  EXPECT_THAT(names_of(keras_model(network, "my/model")), ElementsAre("a_b", "a/b", "plain"));
}

// Keras 2 counts a model's creation as its first call.
TEST(SymbolicModel, TakesModelsApart) {
  Json inner = template_config();
  inner["name"] = "inner";
  inner["inbound_nodes"] = Json::parse(R"([[["first", 0, 0, {}]], [["other", 0, 0, {}]]])");
  const Json model =
      model_of("Model", "outer",
               {input("in", "[null, 7]"), dense("first", 4, R"([[["in", 0, 0, {}]]])"),
                dense("other", 4, R"([[["in", 0, 0, {}]]])"), inner, dense("end", 1, R"([[["inner", 2, 0, {}]]])")},
               R"([["in", 0, 0]])", R"([["inner", 1, 0], ["end", 0, 0]])");
  const SymbolicModel opened = model_from_config(model);
  EXPECT_THAT(groups_of(opened), ElementsAre("first first layers/dense", "other other layers/dense_1",
                                             "inner inner_first layers/model/layers/dense",
                                             "inner second layers/model/layers/dense_1", "end end layers/dense_2"));
  const Network network = network_of(opened);
  EXPECT_EQ(network.calls().size(), 7U);
  EXPECT_EQ(network.layers()[network.calls()[network.outputs()[0]].layer].name(), "second");
  const Json written = network_config(keras_model(network, "outer"));
  EXPECT_EQ(written["config"]["layers"].size(), 5U);
  EXPECT_EQ(written["config"]["output_layers"], Json::parse(R"([["inner", 1, 0], ["end", 0, 0]])"));
  EXPECT_EQ(network_config(keras_model(network_of(model_from_config(written)), "outer")), written);
  EXPECT_EQ(network_config(flat_keras_model(network, "outer"))["config"]["layers"].size(), 6U);
}

TEST(SymbolicModel, IsTheTemplateOfAnOldParallelModel) {
  Json inner = template_config();
  inner["name"] = "template";
  inner["inbound_nodes"] = Json::parse(R"([[["lambda_1", 0, 0, {}]], [["lambda_2", 0, 0, {}]]])");
  const auto slice = [](const char* name, const char* key, int part) {
    return Json{{"class_name", "Lambda"},
                {"config", {{"name", name}, {"function", "bytes"}, {"arguments", {{key, part}, {"parts", 2}}}}},
                {"name", name},
                {"inbound_nodes", Json::parse(R"([[["x", 0, 0, {}]]])")}};
  };
  Json join{{"class_name", "Concatenate"},
            {"config", {{"name", "second"}, {"axis", 0}}},
            {"name", "second"},
            {"inbound_nodes", Json::parse(R"([[["template", 1, 0, {}], ["template", 2, 0, {}]]])")}};
  const auto model = [&](const char* key, int last) {
    return model_of("Model", "parallel",
                    {input("x", "[null, 4]"), slice("lambda_1", key, 0), slice("lambda_2", key, last), inner, join},
                    R"([["x", 0, 0]])", R"([["second", 0, 0]])");
  };
  for (const char* const key : {"i", "idx"}) {  // multi_gpu_model's and make_parallel's names
    const SymbolicModel opened = model_from_config(model(key, 1));
    EXPECT_EQ(opened.name, "template");
    EXPECT_THAT(groups_of(opened),
                ElementsAre("template first layers/model/layers/dense", "template second layers/model/layers/dense_1"));
  }
  // Other lambdas are not slices, and are not dropped.
  EXPECT_ERROR(InputError, "layer 'lambda_1' is of class Lambda; known are", model_from_config(model("factor", 1)));
  EXPECT_ERROR(InputError, "layer 'lambda_1' is of class Lambda; known are", model_from_config(model("i", 2)));
}

TEST(SymbolicModel, SaysWhatIsWrong) {
  EXPECT_ERROR(InputError, "the model is of class Mine; known are Functional, Model and Sequential",
               model_from_config({{"class_name", "Mine"}, {"config", Json::object()}}));
  EXPECT_ERROR(InputError, "not one that Keras writes", model_from_config(Json::array()));
  EXPECT_ERROR(InputError, "layer 'states' of the Sequential model 'line' has return_state",
               model_from_config(Json::parse(R"({"class_name": "Sequential", "config": {"name": "line", "layers": [
                   {"class_name": "GRU", "config": {"name": "states", "batch_input_shape": [null, 3, 2], "units": 2,
                                                    "return_state": true}}]}})")));
  EXPECT_ERROR(InputError, "layer 'both' of the Sequential model 'line' has no merge_mode",
               model_from_config(Json::parse(R"({"class_name": "Sequential", "config": {"name": "line", "layers": [
                   {"class_name": "Bidirectional", "config": {"name": "both", "batch_input_shape": [null, 3, 2],
                       "merge_mode": null, "layer": {"class_name": "GRU", "config": {"units": 2}}}}]}})")));
  const auto broken = [](const char* path, Json value) {
    Json model = template_config();
    model[Json::json_pointer(path)] = std::move(value);
    return model_from_config(model);
  };
  EXPECT_ERROR(InputError, "input 'x' is [null,0]; sizes are whole numbers of at least 1, or null",
               broken("/config/layers/0/config/batch_input_shape", {nullptr, 0}));
  EXPECT_ERROR(InputError, "missing or depends on itself",
               broken("/config/layers/1/inbound_nodes", Json::parse(R"([[["second", 0, 0, {}]]])")));
  EXPECT_ERROR(InputError, "layer 'first' is called with mask = true; only inputs and training can be given",
               broken("/config/layers/1/inbound_nodes", Json::parse(R"([[["x", 0, 0, {"mask": true}]]])")));
  EXPECT_ERROR(InputError, "layer 'first' of class Dense is called on the value 3.0, not on the result of a layer",
               broken("/config/layers/1/inbound_nodes", Json::parse(R"([{"args": [3.0], "kwargs": {}}])")));
  EXPECT_ERROR(InputError, "layer 'first' of class TFOpLambda is a function of TensorFlow",
               broken("/config/layers/1/class_name", "TFOpLambda"));
  EXPECT_ERROR(InputError, "layer 'x' has 1 result(s), the model uses result 1",
               broken("/config/layers/1/inbound_nodes", Json::parse(R"([[["x", 0, 1, {}]]])")));
  EXPECT_ERROR(InputError, "layer 'second' is of class Conv3D", broken("/config/layers/2/class_name", "Conv3D"));
  EXPECT_ERROR(InputError, "layer 'first': Dense takes vectors",
               broken("/config/layers/0/config/batch_input_shape", {nullptr}));
}

TEST(SymbolicModel, RunsNoCodeOfAFile) {
  Json model = template_config();
  model["config"]["layers"][1]["class_name"] = "Lambda";
  model["config"]["layers"][1]["config"]["function"] = {"4wEAAAA=\n", nullptr, nullptr};
  EXPECT_ERROR(InputError, "layer 'first' is of class Lambda; known are", model_from_config(model));
}

TEST(SymbolicModel, ChecksSizesBeforeTheyAreUsed) {
  const auto with_input = [](const char* shape) {
    Json model = template_config();
    model["config"]["layers"][0] = input("x", shape);
    return model_from_config(model);
  };
  EXPECT_ERROR(InputError, "input 'x' is [null,1099511627776]; sizes are whole numbers of at least 1, or null",
               with_input("[null, 1099511627776]"));
  EXPECT_ERROR(InputError, "input 'x' is [null,18446744073709551615]", with_input("[null, 18446744073709551615]"));
  EXPECT_ERROR(InputError, "layer 'x' makes (65536, 65536) of each example, which is more than 2147483647 numbers",
               with_input("[null, 65536, 65536]"));
  EXPECT_ERROR(InputError, "input 'x' has 9 axes, at most 8 can be", with_input("[null, 1, 1, 1, 1, 1, 1, 1, 1]"));
  Json wide = template_config();
  wide["config"]["layers"][1]["config"]["units"] = std::int64_t{1} << 40;
  EXPECT_ERROR(InputError, "units cannot be 1099511627776; it must be a whole number of 32 bits",
               model_from_config(wide));
}

TEST(SymbolicModel, RefusesValuesOfOtherTypes) {
  const auto broken = [](const char* path, Json value) {
    Json model = template_config();
    model[Json::json_pointer(path)] = std::move(value);
    return model_from_config(model);
  };
  const char* const complaint = "the model's configuration is not one that Keras writes";
  EXPECT_ERROR(InputError, complaint, broken("/config/layers/0/config", 7));
  EXPECT_ERROR(InputError, complaint, broken("/config/layers", "none"));
  EXPECT_ERROR(InputError, "input 'x' has no shape",
               broken("/config/layers/0/config/batch_input_shape", {{"a", 1}, {"b", 2}}));
}

/// A model that is a layer of another one.
Json as_layer(Json model, const char* nodes) {
  model["name"] = model["config"]["name"];
  model["inbound_nodes"] = Json::parse(nodes);
  return model;
}

TEST(SymbolicModel, RefusesOneThatIsALayerOfItself) {
  Json outer = template_config();
  Json inner = as_layer(template_config(), R"([[["first", 0, 0, {}]]])");
  inner["shared_object_id"] = 1;
  Json again = as_layer(template_config(), R"([[["second", 0, 0, {}]]])");
  again["shared_object_id"] = 1;
  inner["config"]["layers"].push_back(again);
  outer["config"]["layers"].push_back(inner);
  EXPECT_ERROR(InputError, "model 'template' is a layer of itself", model_from_config(outer));
}

// Each model calls the nested one twice: a few thousand bytes describe 2^40 layers.
TEST(SymbolicModel, RefusesMoreCallsThanAnyModelHas) {
  Json model = model_of("Model", "m", {input("x", "[null, 3]"), dense("d", 3, R"([[["x", 0, 0, {}]]])")},
                        R"([["x", 0, 0]])", R"([["d", 0, 0]])");
  for (int depth = 0; depth < 30; ++depth)
    model =
        model_of("Model", "m", {input("x", "[null, 3]"), as_layer(model, R"([[["x", 0, 0, {}]], [["m", 1, 0, {}]]])")},
                 R"([["x", 0, 0]])", R"([["m", 2, 0]])");
  EXPECT_ERROR(InputError, "its layers are called more than 100000 times in all", model_from_config(model));
}

}  // namespace
}  // namespace lockstep
