#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

/// x -> an operation of Keras' ops, in Keras 3's form.
Json operation_config(const char* class_name, const char* args, const char* options = "{}") {
  Json config = Json::parse(options);
  config["name"] = "op";
  const Json operation{{"module", "keras.src.ops.numpy"},
                       {"class_name", class_name},
                       {"config", std::move(config)},
                       {"registered_name", class_name},
                       {"name", "op"},
                       {"inbound_nodes", Json::array({{{"args", Json::parse(args)}, {"kwargs", Json::object()}}})}};
  const auto input = [](const char* name, const char* shape) {
    return Json{{"class_name", "InputLayer"},
                {"config", {{"name", name}, {"batch_input_shape", Json::parse(shape)}}},
                {"name", name},
                {"inbound_nodes", Json::array()}};
  };
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "formula"},
            {"layers", Json::array({input("x", "[null, 2]"), input("y", "[null, 3, 2]"), operation})},
            {"input_layers", Json::parse(R"([["x", 0, 0], ["y", 0, 0]])")},
            {"output_layers", Json::parse(R"([["op", 0, 0]])")}}}};
}

const std::string tensor_x = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}})";
const std::string tensor_y = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["y", 0, 0]}})";

/// The operation's result for x = (2, -4).
std::vector<float> result_of(const char* class_name, const std::string& args, const char* options = "{}") {
  const SymbolicModel model = model_from_config(operation_config(class_name, args.c_str(), options));
  const Network network({model.inputs[0]}, model.outputs, 0);
  return network(Tensor::from<float>({2, -4}, {1, 2}), Mode::inference).to_vector<float>();
}

TEST(Operations, OfATensorAndANumberAreRead) {
  EXPECT_THAT(result_of("Add", "[" + tensor_x + ", 3.0]"), ElementsAre(5, -1));
  EXPECT_THAT(result_of("Add", "[3, " + tensor_x + "]"), ElementsAre(5, -1));
  EXPECT_THAT(result_of("Subtract", "[" + tensor_x + ", 3.0]"), ElementsAre(-1, -7));
  EXPECT_THAT(result_of("Subtract", "[1, " + tensor_x + "]"), ElementsAre(-1, 5));
  EXPECT_THAT(result_of("Multiply", "[" + tensor_x + ", 0.25]"), ElementsAre(0.5, -1));
  EXPECT_THAT(result_of("TrueDivide", "[" + tensor_x + ", 4]"), ElementsAre(0.5, -1));
  EXPECT_THAT(result_of("Negative", "[" + tensor_x + "]"), ElementsAre(-2, 4));
  EXPECT_THAT(result_of("Multiply", "[" + tensor_x + ", " + tensor_x + "]"), ElementsAre(4, 16));
}

TEST(Operations, AreReadAsKerasComputesThem) {
  EXPECT_THAT(result_of("TrueDivide", "[2, " + tensor_x + "]"), ElementsAre(1, -0.5));
  EXPECT_THAT(result_of("Square", "[" + tensor_x + "]"), ElementsAre(4, 16));
  EXPECT_THAT(result_of("Maximum", "[" + tensor_x + ", 0]"), ElementsAre(2, 0));
  EXPECT_THAT(result_of("Cast", "[" + tensor_x + "]", R"({"dtype": "float32"})"), ElementsAre(2, -4));
  EXPECT_THAT(result_of("OnesLike", "[" + tensor_x + "]", R"({"dtype": null})"), ElementsAre(1, 1));
  EXPECT_THAT(result_of("Mean", "[" + tensor_x + "]", R"({"axis": [-1], "keepdims": true})"), ElementsAre(-1));
  const std::string all = R"({"class_name": "__slice__", "config": {"start": null, "stop": null, "step": null}})";
  const std::string last = R"({"class_name": "__slice__", "config": {"start": -1, "stop": null, "step": null}})";
  EXPECT_THAT(result_of("GetItem", "[" + tensor_x + ", [" + all + ", " + last + "]]"), ElementsAre(-4));
}

TEST(Operations, OfOtherKindsAreRefused) {
  EXPECT_ERROR(InputError, "operation 'op' of class Arctan2 cannot be read; build the model of layers and of the ",
               result_of("Arctan2", "[" + tensor_x + ", " + tensor_x + "]"));
  EXPECT_ERROR(InputError, "operation Sum needs an axis: all axes include the batch's",
               result_of("Sum", "[" + tensor_x + "]"));
  EXPECT_ERROR(InputError, "operation Softmax cannot work along the batch axis",
               result_of("Softmax", "[" + tensor_x + "]", R"({"axis": 0})"));
  EXPECT_ERROR(InputError, "operation Max with initial = 3 is not supported; leave it out",
               result_of("Max", "[" + tensor_x + "]", R"({"axis": 1, "keepdims": true, "initial": 3})"));
  EXPECT_ERROR(InputError, "operation OnesLike makes float32 only; leave its dtype out",
               result_of("OnesLike", "[" + tensor_x + "]", R"({"dtype": "int32"})"));
  EXPECT_ERROR(InputError, "does not keep the batch axis first",
               result_of("Einsum", "[" + tensor_x + "]", R"({"subscripts": "ab->ba"})"));
  EXPECT_ERROR(InputError, "operation GetItem takes all examples of a batch: its first key must be : or ...",
               result_of("GetItem", "[" + tensor_x + ", 0]"));
  const std::string first_two = R"({"class_name": "__slice__", "config": {"start": 0, "stop": 2, "step": null}})";
  EXPECT_ERROR(InputError, "operation GetItem takes all examples of a batch: its first key must be : or ...",
               result_of("GetItem", "[" + tensor_x + R"(, [{"class_name": "__ellipsis__", "config": {}}, )" +
                                        first_two + ", " + first_two + "]]"));
  EXPECT_ERROR(InputError, "operation 'op' takes inputs of one rank, got (2) and (3, 2): reshape one of them first",
               result_of("Add", "[" + tensor_x + ", " + tensor_y + "]"));
}

}  // namespace
}  // namespace lockstep
