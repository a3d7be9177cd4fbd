// The table of Keras' operations, and tests that each row must pass: a new operation needs a row here.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/layers/operations/operation_case.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/symbol_operations.h>
#include <lockstep/models/layers/operation.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/models/serialization/symbolic_model.h>

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

const Cases& operation_cases() {
  static const Cases all = joined({function_cases(), array_cases(), mask_and_index_cases(), image_cases()});
  return all;
}

class OperationCases : public testing::TestWithParam<std::size_t> {
 protected:
  std::vector<Symbol> symbols() const {
    std::vector<Symbol> inputs;
    for (const Tensor& x : case_.made())
      inputs.push_back(Input(Shape(std::span(x.shape().begin() + 1, x.shape().end()))));
    return inputs;
  }
  /// A call on inputs of floating-point numbers, which it casts to the dtypes of the row.
  Network network() const {
    const std::vector<Symbol> inputs = symbols();
    std::vector<Symbol> given;
    for (const Tensor& x : case_.made()) {
      const Symbol& input = inputs[given.size()];
      const char* const to = x.dtype() == DType::boolean ? R"({"dtype": "bool"})" : R"({"dtype": "int64"})";
      given.push_back(is_real(x.dtype()) ? input : operation("Cast", {input}, to));
    }
    return {inputs, operation_results(case_.class_name(), given, case_.options, case_.args), 0};
  }
  void expect_results(const Network& network) const {
    const Tensors x = case_.made();
    Tensors numbers;
    for (const Tensor& made : x) numbers.push_back(cast(made, DType::f32));
    const Tensors results = network.run(numbers, Mode::inference);
    const Tensors expected = case_.reference(x);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same_bits(results[i], expected[i]);
      const Shape announced = network.output_symbols()[i].shape();
      EXPECT_EQ(announced, Shape(std::span(expected[i].shape().begin() + 1, expected[i].shape().end())));
    }
  }
  /// The message of the InvalidArgument that a call on these inputs throws.
  std::string refusal(const std::vector<Symbol>& inputs, const std::string& options, const std::string& args) const {
    return error_of<InvalidArgument>([&] { operation(case_.class_name(), inputs, options, args); });
  }

  const OperationCase& case_ = operation_cases()[GetParam()];
};

TEST_P(OperationCases, ComputesWhatTheOpComputes) { expect_results(network()); }

TEST_P(OperationCases, IsTheOperationOfItsModelsConfig) {
  const Network first = network();
  const Json config = network_config(saved_keras_model(first, "model"));
  const SymbolicModel model = model_from_config(config);
  const Network again(model.inputs, model.outputs, 0);
  expect_results(again);
  const LayerImpl& last = again.layers().back().impl();
  if (operation_form(last).args == nullptr) return;  // a layer that computes the same
  EXPECT_EQ(last.class_name(), case_.class_name());
  EXPECT_EQ(network_config(saved_keras_model(again, "model")), config);
}

TEST_P(OperationCases, RefusesOtherInputsAndOptions) {
  const std::string named = "operation " + case_.class_name();
  const std::vector<Symbol> inputs = symbols();
  EXPECT_THAT(refusal({}, case_.options, case_.args), testing::HasSubstr(named));
  EXPECT_THAT(refusal(inputs, case_.options, R"([{"tensor": 7}, {"tensor": 8}])"), testing::HasSubstr(named));
  std::vector<Symbol> more = inputs;
  more.push_back(Input({3, 4}));
  EXPECT_THAT(refusal(more, case_.options, case_.args.empty() ? R"([{"tensor": 0}])" : case_.args),
              testing::HasSubstr(named));
  Json options = Json::parse(case_.options);
  options["nonsense"] = 1;
  EXPECT_THAT(refusal(inputs, options.dump(), case_.args),
              testing::HasSubstr(named + " with nonsense = 1 is not supported; leave it out"));
}

TEST_P(OperationCases, RefusesTheBatchAxisAndAxesThatItsInputLacks) {
  const Json options = Json::parse(case_.options);
  for (const char* key : {"axis", "axis1", "source"}) {
    if (!options.contains(key)) continue;
    for (const int axis : {0, 9, -9}) {
      Json other = options;
      other[key] = options[key].is_array() ? Json::array({axis}) : Json(axis);
      EXPECT_THAT(refusal(symbols(), other.dump(), case_.args), testing::HasSubstr(key)) << axis;
      other[key] = "first";
      EXPECT_THAT(refusal(symbols(), other.dump(), case_.args), testing::HasSubstr("operation " + case_.class_name()));
    }
  }
}

TEST(OperationCasesTable, HasARowForEachOperation) {
  for (const std::string& name : operation_names())
    EXPECT_TRUE(
        std::ranges::any_of(operation_cases(), [&](const OperationCase& row) { return row.class_name() == name; }))
        << "no row for " << name;
  EXPECT_TRUE(std::ranges::is_sorted(operation_names()));
}

TEST(Operation, RefusesOtherNamesAndTexts) {
  const Symbol x = Input({3});
  EXPECT_ERROR(InvalidArgument, "operation Fft is not supported; known are Absolute, Add, ", operation("Fft", {x}));
  for (const char* text : {"{", "1", "[1"}) {
    EXPECT_ERROR(InvalidArgument, "operation Exp: arguments are a JSON object and a JSON list, got",
                 operation("Exp", {x}, text));
    EXPECT_ERROR(InvalidArgument, "operation Exp: arguments are a JSON object and a JSON list, got",
                 operation("Exp", {x}, "{}", text));
  }
  const char* const broken = R"([{"tensor": 0}, {"class_name": "__tensor__", "config": 1}])";
  EXPECT_ERROR(InvalidArgument, "operation Add with ", operation("Add", {x}, "{}", broken));
}

TEST(Operation, SeparableConvRefusesPointwiseKernelsOfSeveralPixels) {
  for (const char* kernel : {"[[[[1.0]]], [[[1.0]]]]", "[[[[1.0]], [[1.0]]]]"})
    EXPECT_ERROR(InvalidArgument, "operation SeparableConv takes pointwise kernels of one pixel, 1 x 1",
                 operation("SeparableConv", {Input({3, 4, 1})}, "{}",
                           fmt::format(R"([{{"tensor": 0}}, [[[[1.0]]]], {}])", kernel)));
}

TEST(Operation, RefusesValuesThatItsOptionsLack) {
  const Symbol x = Input({3, 4, 1});
  EXPECT_ERROR(InvalidArgument, "operation MaxPool has the paddings valid and same, not \"causal\"",
               operation("MaxPool", {x}, R"({"pool_size": 2, "padding": "causal"})"));
  EXPECT_ERROR(InvalidArgument,
               "operation Resize has the interpolations nearest, bilinear, bicubic, lanczos3 and lanczos5, not 1",
               operation("Resize", {x}, R"({"size": 2, "interpolation": 1})"));
  EXPECT_ERROR(InvalidArgument, "operation Resize needs the fill_mode constant",
               operation("Resize", {x}, R"({"size": 2, "fill_mode": "reflect"})"));
  const char* const args = R"([{"tensor": 0}, [1, 0, 0, 0, 1, 0, 0, 0]])";
  EXPECT_ERROR(InvalidArgument, "operation AffineTransform has the fill_modes constant, nearest, reflect and wrap",
               operation("AffineTransform", {x}, R"({"fill_mode": "mirror"})", args));
  EXPECT_ERROR(InvalidArgument, "affine_transform interpolates by nearest or bilinear",
               operation("AffineTransform", {x}, R"({"interpolation": "bicubic"})", args));
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = operation_cases()[info.param].name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Operations, OperationCases, testing::Range<std::size_t>(0, operation_cases().size()),
                         test_name);

}  // namespace
}  // namespace lockstep::test
