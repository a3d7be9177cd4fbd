#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

/// x -> an operation of Keras' ops, in Keras 3's form.
Json operation_config(const char* class_name, const char* args, const char* options = "{}", const char* named = "{}",
                      const char* batch = "null") {
  Json config = Json::parse(options);
  config["name"] = "op";
  const Json operation{{"module", "keras.src.ops.numpy"},
                       {"class_name", class_name},
                       {"config", std::move(config)},
                       {"registered_name", class_name},
                       {"name", "op"},
                       {"inbound_nodes", Json::array({{{"args", Json::parse(args)}, {"kwargs", Json::parse(named)}}})}};
  const auto input = [&](const char* name, Json shape) {
    shape.insert(shape.begin(), Json::parse(batch));
    return Json{{"class_name", "InputLayer"},
                {"config", {{"name", name}, {"batch_input_shape", std::move(shape)}}},
                {"name", name},
                {"inbound_nodes", Json::array()}};
  };
  return {{"class_name", "Functional"},
          {"config",
           {{"name", "formula"},
            {"layers", Json::array({input("x", Json::array({2})), input("y", Json::array({3, 2})), operation})},
            {"input_layers", Json::parse(R"([["x", 0, 0], ["y", 0, 0]])")},
            {"output_layers", Json::parse(R"([["op", 0, 0]])")}}}};
}

const std::string tensor_x = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}})";
const std::string tensor_y = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["y", 0, 0]}})";

/// The operation's result for x = (2, -4).
std::vector<float> result_of(const char* class_name, const std::string& args, const char* options = "{}",
                             const std::string& named = "{}") {
  const SymbolicModel model = model_from_config(operation_config(class_name, args.c_str(), options, named.c_str()));
  const Network network({model.inputs[0]}, model.outputs, 0);
  const Tensor result = network(Tensor::from<float>({2, -4}, {1, 2}), Mode::inference);
  return cast(result, DType::f32).to_vector<float>();
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

TEST(Operations, TakeArgumentsByName) {
  const char* const widths = R"({"pad_width": [[0, 0], [1, 0]], "mode": "constant"})";
  EXPECT_THAT(result_of("Pad", "[" + tensor_x + "]", widths, R"({"constant_values": 7})"), ElementsAre(7, 2, -4));
  EXPECT_THAT(result_of("Pad", "[" + tensor_x + "]", widths, R"({"constant_values": null})"), ElementsAre(0, 2, -4));
  EXPECT_ERROR(InputError, "layer 'op' is called with how = 7",
               result_of("Pad", "[" + tensor_x + "]", widths, R"({"how": 7})"));
}

// Layers combine floating-point numbers only.
TEST(Operations, OfIntegersAndBoolAreNoLayers) {
  std::string integers = tensor_x;
  integers.insert(integers.find("\"keras_history"), R"("dtype": "int32", )");
  for (const char* class_name : {"Add", "Multiply"}) {
    const auto class_of = [&](const std::string& tensor) {
      const SymbolicModel model = model_from_config(operation_config(class_name, ("[" + tensor + ", 2]").c_str()));
      return std::string(model.layers.at(0).layer.impl().class_name());
    };
    EXPECT_EQ(class_of(integers), class_name);
    EXPECT_EQ(class_of(tensor_x), "Rescaling");
  }
  const std::string both = "[" + integers + ", " + integers + "]";
  const SymbolicModel model = model_from_config(operation_config("Multiply", both.c_str()));
  const Network network({model.inputs[0]}, model.outputs, 0);
  EXPECT_THAT(network(Tensor::from<std::int64_t>({2, -4}, {1, 2}), Mode::inference).to_vector<std::int64_t>(),
              ElementsAre(4, 16));
  const SymbolicModel sum = model_from_config(operation_config("Add", ("[" + integers + ", 3000000000]").c_str()));
  const Network adds({sum.inputs[0]}, sum.outputs, 0);
  const Tensor x = cast(Tensor::from<std::int64_t>({2, -4}, {1, 2}), DType::i32);
  EXPECT_ERROR(InvalidArgument, "operation Add of i32 cannot take the number 3000000000", adds(x, Mode::inference));
}

TEST(Operations, TakeConstants) {
  const std::string table = R"({"class_name": "__numpy__", "config": {"value": [1.5, -1], "dtype": "float32"}})";
  EXPECT_THAT(result_of("Add", "[" + tensor_x + ", " + table + "]"), ElementsAre(3.5, -5));
  EXPECT_THAT(result_of("Where", "[[true, false], " + tensor_x + ", " + table + "]"), ElementsAre(2, -1));
  EXPECT_THAT(result_of("Power", "[" + tensor_x + ", [2, 3]]"), ElementsAre(4, -64));
  EXPECT_ERROR(InputError, "operation Add takes results of layers, numbers and tensors of numbers, got [1,[2]]",
               result_of("Add", "[" + tensor_x + ", [1, [2]]]"));
  EXPECT_ERROR(InputError, "operation Concatenate takes a list of results of layers, got",
               result_of("Concatenate", "[[" + tensor_x + ", " + table + "]]"));
}

// Keras aligns the last axes of two tensors, so that only for batches of one example is the batch axis kept.
TEST(Operations, OfInputsOfTwoRanksTakeBatchesOfOneExample) {
  const std::string args = "[" + tensor_x + ", " + tensor_y + "]";
  const SymbolicModel model = model_from_config(operation_config("Add", args.c_str(), "{}", "{}", "1"));
  const Network network(model.inputs, model.outputs, 0);
  const Tensor y = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {1, 3, 2});
  EXPECT_THAT(network({Tensor::from<float>({2, -4}, {1, 2}), y}, Mode::inference).to_vector<float>(),
              ElementsAre(3, -2, 5, 0, 7, 2));
}

TEST(Operations, RefuseNumbersThatAreNotWholeOrTooLarge) {
  const std::string huge = "4294967297";                 // 1 in 32 bits
  const std::string unsigned_ = "18446744073709551615";  // -1 in 64 bits
  const auto expect_refused = [](const char* class_name, const std::string& args, const std::string& options,
                                 const std::string& right) {
    EXPECT_ERROR(InputError, fmt::format("operation {} takes whole numbers of {}", class_name, right),
                 result_of(class_name, args, options.c_str()));
  };
  const std::string x = "[" + tensor_x + "]";
  const std::string y = "[" + tensor_y + "]";
  for (const char* axes : {"[0, 4294967298, 1]", "[0, 2, 4294967297]", "[0, 1.7, 2]", "[0, true, 2]"})
    expect_refused("Transpose", y, fmt::format(R"({{"axes": {}}})", axes), "32 bits as its axes, got ");
  const std::string both = "[" + tensor_x + ", " + tensor_x + "]";
  for (const std::string& axes : {huge, "[[" + huge + "], [1]]", std::string("[1, 1.5]"), std::string("0.5")})
    expect_refused("Tensordot", both, fmt::format(R"({{"axes": {}}})", axes), "32 bits as its axes, got ");
  expect_refused("Take", "[[[1.0, 2.0], [3.0, 4.0]], " + tensor_x + "]", R"({"axis": )" + huge + "}",
                 "32 bits as its axis, got " + huge);
  expect_refused("Round", x, R"({"decimals": 1e300})", "32 bits as its decimals, got 1e+300");
  expect_refused("Round", x, R"({"decimals": 0.5})", "32 bits as its decimals, got 0.5");
  for (const std::string& axis : {unsigned_, std::string("1.7"), "[" + unsigned_ + "]"}) {
    const std::string options = R"({"axis": )" + axis + "}";
    for (const char* class_name : {"Sort", "Softmax", "Flip", "ExpandDims"})
      expect_refused(class_name, x, options, "64 bits as its axis, got ");
  }
  expect_refused("Diff", x, R"({"n": )" + unsigned_ + "}", "64 bits as its n, got " + unsigned_);
  expect_refused("Roll", x, R"({"axis": 1, "shift": [1.5]})", "64 bits as its shift, got 1.5");
  expect_refused("Repeat", x, R"({"axis": 1, "repeats": 1.5})", "64 bits as its repeats, got 1.5");
  expect_refused("Split", x, R"({"axis": 1, "indices_or_sections": [1.5]})",
                 "64 bits as its indices_or_sections, got 1.5");
  expect_refused("Tile", x, R"({"repeats": [1, 2.5]})", "64 bits as its repeats, got 2.5");
  expect_refused("Pad", x, R"({"pad_width": [[0, 0], [0.5, 1]]})", "64 bits as its pad_width, got 0.5");
  expect_refused("Tril", y, R"({"k": 0.5})", "64 bits as its k, got 0.5");
  expect_refused("Reshape", x, R"({"newshape": [-1, 2.5]})", "64 bits as its newshape, got 2.5");
  expect_refused("BroadcastTo", x, R"({"shape": [-1, 2.5]})", "64 bits as its shape, got 2.5");
}

TEST(Operations, OfOtherKindsAreRefused) {
  EXPECT_ERROR(InputError, "operation 'op' of class Cross cannot be read; build the model of layers and of the ",
               result_of("Cross", "[" + tensor_x + ", " + tensor_x + "]"));
  EXPECT_ERROR(InputError, "operation Sum needs an axis: all axes include the batch's",
               result_of("Sum", "[" + tensor_x + "]"));
  EXPECT_ERROR(InputError, "operation Softmax cannot work along the batch axis",
               result_of("Softmax", "[" + tensor_x + "]", R"({"axis": 0})"));
  EXPECT_ERROR(InputError, "operation Max with initial = 3 is not supported; leave it out",
               result_of("Max", "[" + tensor_x + "]", R"({"axis": 1, "keepdims": true, "initial": 3})"));
  EXPECT_ERROR(InputError,
               "operation Cast cannot have the dtype \"float16\"; use float32, bfloat16, int32, int64, uint8 or bool",
               result_of("Cast", "[" + tensor_x + "]", R"({"dtype": "float16"})"));
  EXPECT_ERROR(InputError, "operation Where takes results of layers, numbers and tensors of numbers, got null",
               result_of("Where", "[" + tensor_x + ", null, null]"));
  EXPECT_ERROR(InputError, "operation Sort needs an axis: all axes include the batch's",
               result_of("Sort", "[" + tensor_x + "]", R"({"axis": null})"));
  EXPECT_ERROR(InputError, "operation Pad cannot add examples to a batch",
               result_of("Pad", "[" + tensor_x + "]", R"({"pad_width": [[1, 1]], "mode": "constant"})"));
  EXPECT_ERROR(InputError, "operation Pad needs a pad_width with a pair for each axis",
               result_of("Pad", "[" + tensor_x + "]", R"({"pad_width": 1, "mode": "constant"})"));
  EXPECT_ERROR(InputError, "operation Pad has the modes constant, reflect, symmetric and edge",
               result_of("Pad", "[" + tensor_x + "]", R"({"pad_width": [[0, 0], [1, 1]], "mode": "wrap"})"));
  EXPECT_ERROR(InputError, "operation Tile cannot repeat a batch",
               result_of("Tile", "[" + tensor_x + "]", R"({"repeats": [2, 1]})"));
  EXPECT_ERROR(InvalidArgument, "operation BroadcastTo is for batches of 7 examples, got 1",
               result_of("BroadcastTo", "[" + tensor_x + "]", R"({"shape": [7, 2]})"));
  EXPECT_ERROR(InputError, "operation BroadcastTo needs a shape of as many axes as its input has",
               result_of("BroadcastTo", "[" + tensor_x + "]", R"({"shape": [1, 7, 2]})"));
  EXPECT_ERROR(InputError, "norm of order nuc takes two axes, got 1",
               result_of("Norm", "[" + tensor_x + "]", R"({"axis": [1], "ord": "nuc"})"));
  EXPECT_ERROR(InputError, "operation Norm takes a number or a name as its ord, got [1]",
               result_of("Norm", "[" + tensor_x + "]", R"({"axis": [1], "ord": [1]})"));
  EXPECT_ERROR(InputError, "operation Tril takes matrices", result_of("Tril", "[" + tensor_x + "]"));
  EXPECT_ERROR(InputError, "operation OneHot makes dense tensors only",
               result_of("OneHot", "[" + tensor_x + "]", R"({"num_classes": 3, "sparse": true})"));
  EXPECT_ERROR(InputError, "does not keep the batch axis first",
               result_of("Einsum", "[" + tensor_x + "]", R"({"subscripts": "ab->ba"})"));
  EXPECT_ERROR(InputError, "operation GetItem takes all examples of a batch: its first key must be : or ...",
               result_of("GetItem", "[" + tensor_x + ", 0]"));
  const std::string first_two = R"({"class_name": "__slice__", "config": {"start": 0, "stop": 2, "step": null}})";
  EXPECT_ERROR(InputError, "operation GetItem takes all examples of a batch: its first key must be : or ...",
               result_of("GetItem", "[" + tensor_x + R"(, [{"class_name": "__ellipsis__", "config": {}}, )" +
                                        first_two + ", " + first_two + "]]"));
  EXPECT_ERROR(InputError,
               "operation 'op' takes inputs of one rank, got (2) and (3, 2): Keras would align the batch axis",
               result_of("Add", "[" + tensor_x + ", " + tensor_y + "]"));
}

}  // namespace
}  // namespace lockstep
