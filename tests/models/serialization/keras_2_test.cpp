#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/serialization/keras_2.h>
#include <lockstep/models/training/model_files.h>

// Files written by Keras 2; see keras_2/README.md. Their group "expected" has Keras 2's results for the model.

namespace lockstep {
namespace {

using testing::ElementsAre;

// The files are beside the program, through lockstep_test's DATA, both in the build folder and in the kit of
// tools/gpu-kit.
std::filesystem::path folder_of_files() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "keras_2";
}

std::string file_of(const std::string& name) { return folder_of_files() / (name + ".h5"); }

Tensor expected(const std::string& file, const std::string& name) {
  const hdf5::Reader reader(file_of(file));
  const Tensor value = Tensor::empty(reader.shape_of("expected/" + name));
  reader.read("expected/" + name, value.span<float>());
  return value;
}

std::vector<Tensor> inputs_of(const Model& model, const std::string& file) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < model.network().inputs().size(); ++i)
    inputs.push_back(expected(file, fmt::format("input_{}", i)));
  return inputs;
}

/// Checks that the model's predictions are those of Keras 2.
void expect_predictions(const Model& model, const std::string& file) {
  const std::vector<Tensor> outputs = model.run(inputs_of(model, file));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    test::expect_close(outputs[i], expected(file, fmt::format("output_{}", i)).to_vector<double>(), 30);
}

std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.network().layers()) names.push_back(layer.name());
  return names;
}

const std::vector<std::string> names_of_template{"frozen", "norm", "conv",    "pool", "flat",
                                                 "joined", "drop", "classes", "score"};

/// Checks that this is the template, with its names, weights and predictions.
void expect_template(const Model& model) {
  EXPECT_THAT(layer_names(model), testing::UnorderedElementsAreArray(names_of_template));
  for (const Layer& layer : model.network().layers()) {
    EXPECT_EQ(layer.impl().trainable(), layer.name() != "frozen");
    const std::vector<Variable>& variables = layer.impl().variables();
    for (std::size_t i = 0; i < variables.size(); ++i)
      test::expect_same_bits(variables[i].value(), expected("parallel", fmt::format("{}_{}", layer.name(), i)));
  }
  expect_predictions(model, "parallel");
}

TEST(Keras2ParallelModel, IsItsTemplate) {
  const Model model = load_model(file_of("parallel"));
  EXPECT_EQ(model.name(), "template");
  expect_template(model);
  EXPECT_EQ(model.optimizer().state().steps, 4);  // 3, but Keras 2.3 counts a step before it is done
}

TEST(Keras2ParallelModel, OfAParallelModelIsItsTemplate) { expect_template(load_model(file_of("parallel_twice"))); }

TEST(Keras2ParallelModel, IsSavedFlat) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"model.keras", "model.h5"}) {
    save_model(load_model(file_of("parallel")), folder / name);
    const Model again = load_model(folder / name);
    expect_template(again);
    EXPECT_EQ(again.optimizer().state().steps, 4);
  }
}

TEST(Keras2ParallelModel, GivesItsTemplateItsWeights) {
  for (const char* const file : {"parallel_weights", "parallel"}) {
    Model model = load_model(file_of("parallel_twice"), {.compile = false});
    for (const Variable& variable : model.variables()) variable.assign(Tensor::zeros(variable.shape()));
    model.load_weights(file_of(file));
    expect_template(model);
  }
}

TEST(Keras2Recurrences, PredictAsInKeras2) {
  const Model model = load_model(file_of("recurrent"));
  expect_predictions(model, "recurrent");
  const test::TemporaryFolder folder;
  EXPECT_ERROR(Unsupported, "Keras 3 lacks the function of its recurrent_activation; save the weights alone",
               save_model(model, folder / "model.keras"));
}

class Keras2Optimizer : public testing::TestWithParam<const char*> {};

/// Keras 2's RMSprop adds epsilon outside the root, not inside; it is small, so that the steps differ by no more than
/// this.
TEST_P(Keras2Optimizer, GoesOnWhereItStopped) {
  const std::string file = GetParam();
  Model model = load_model(file_of(file));
  EXPECT_EQ(model.optimizer().state().steps, file.starts_with("tf") ? 3 : 4);
  const Dataset rows = Dataset::from_tensors(expected(file, "input_0"), expected(file, "target")).batch(4);
  const History history = model.fit(rows);
  EXPECT_NEAR(history.values.at("loss").back(), expected(file, "loss").to_vector<float>()[0], 1e-5);
  for (std::size_t i = 0; i < model.variables().size(); ++i)
    test::expect_close(model.variables()[i].value(), expected(file, fmt::format("after_{}", i)).to_vector<double>(),
                       100);
}

INSTANTIATE_TEST_SUITE_P(Each, Keras2Optimizer,
                         testing::Values("sgd", "adam", "rmsprop", "tf_adam", "tf_rmsprop", "tf2_adam", "tf2_sgd"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Keras2Terms, OfAnOptimizerAreThoseOfItsVersion) {
  using Json = nlohmann::ordered_json;
  const Json model = Json::parse(R"({"compile_config": {"optimizer_config": {"class_name": "SGD", "config":
      {"learning_rate": 1.0, "decay": 0.25, "clipnorm": 2.0}}}, "activation": "hard_sigmoid", "name": "hard_sigmoid"})");
  const Json old = in_own_terms(model, {.version = "2.3.1", .backend = "tensorflow"});
  const Json& options = old["compile_config"]["optimizer_config"]["config"];
  EXPECT_EQ(options, Json::parse(R"({"learning_rate": 1.0, "decay": 0.25, "global_clipnorm": 2.0})"));
  EXPECT_EQ(old["activation"], "hard_sigmoid of Keras 2");
  EXPECT_EQ(old["name"], "hard_sigmoid");
  for (const char* const version : {"2.2.4-tf", "2.10.0", "2.21.0"}) {
    const Json later = in_own_terms(model, {.version = version, .backend = "tensorflow"});
    EXPECT_EQ(later["compile_config"], model["compile_config"]);
    EXPECT_EQ(later["activation"], "hard_sigmoid of Keras 2");
  }
  EXPECT_EQ(in_own_terms(model, {.version = "3.15.1", .backend = "jax"}), model);
}

// It saved the names as changed for its logs.
TEST(Keras2Terms, OfMetricsAreWithoutTheOutputsNames) {
  using Json = nlohmann::ordered_json;
  const auto read = [](const char* metrics, const char* outputs) {
    const Json model{{"config", {{"output_layers", Json::parse(outputs)}}},
                     {"compile_config", {{"metrics", Json::parse(metrics)}}}};
    return in_own_terms(model, {.version = "2.15.0", .backend = "tensorflow"})["compile_config"]["metrics"];
  };
  EXPECT_EQ(read(R"([[{"config": {"name": "a_mae"}}, "mse"], [{"config": {"name": "a_1_a_1_x"}}]])",
                 R"([["a", 0, 0], ["a", 1, 0]])"),
            Json::parse(R"([[{"config": {"name": "mae"}}, "mse"], [{"config": {"name": "a_1_x"}}]])"));
  EXPECT_EQ(read(R"({"b": [{"config": {"name": "b_mae"}}]})", R"({"z": ["a", 0, 0], "y": ["b", 0, 0]})"),
            Json::parse(R"({"b": [{"config": {"name": "mae"}}]})"));
  const char* const of_one = R"([{"config": {"name": "a_mae"}}])";
  EXPECT_EQ(read(of_one, R"([["a", 0, 0]])"), Json::parse(of_one));
}

// Keras 3 keeps the argument in its files, but fit, evaluate and predict override it.
TEST(Keras3Terms, OfACallAreWithoutTraining) {
  using Json = nlohmann::ordered_json;
  const Json model =
      Json::parse(R"({"config": {"layers": [{"inbound_nodes": [{"args": [], "kwargs": {"training": false}}]}]}})");
  const Json::json_pointer kwargs("/config/layers/0/inbound_nodes/0/kwargs");
  EXPECT_EQ(in_own_terms(model, {.version = "3.15.1", .backend = "jax"})[kwargs], Json::object());
  EXPECT_EQ(in_own_terms(model, {.version = "3.15.1", .backend = "lockstep"}), model);
}

/// A model with two outputs, two of whose calls use inference mode in training, too.
class Keras2Calls : public testing::TestWithParam<const char*> {
 protected:
  static void expect_next_epoch(Model& model) {
    const std::string file = "tf_2_15";
    const Dataset rows =
        Dataset::from_tensors({{expected(file, "input_0")}, {expected(file, "target_0"), expected(file, "target_1")}})
            .batch(4);
    const History history = model.fit(rows);
    EXPECT_NEAR(history.values.at("loss").back(), expected(file, "loss").to_vector<float>()[0], 1e-5);
    std::vector<std::string> names;
    for (const auto& [name, values] : history.values) names.push_back(name);
    EXPECT_THAT(names, testing::IsSupersetOf({"foo_mae", "bar_mean_squared_error", "foo_loss", "bar_loss"}));
    for (std::size_t i = 0; i < model.variables().size(); ++i)
      test::expect_close(model.variables()[i].value(), expected(file, fmt::format("after_{}", i)).to_vector<double>(),
                         100);
  }

  const std::string path_ = folder_of_files() / (std::string("tf_2_15") + GetParam());
};

TEST_P(Keras2Calls, AreTrainedOnAsInKeras2) {
  Model model = load_model(path_);
  EXPECT_EQ(model.optimizer().state().steps, 3);
  expect_next_epoch(model);
}

TEST_P(Keras2Calls, AreKeptByFilesAndModelsAroundThem) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"model.keras", "model.h5"}) {
    save_model(load_model(path_), folder / name);
    Model again = load_model(folder / name);
    expect_next_epoch(again);
  }
  const Model inner = load_model(path_);
  const Symbol x = Input({4});
  Model outer({x}, inner.run({x}));
  outer.compile(inner.optimizer(), inner.compiled_outputs());
  const Dataset rows = Dataset::from_tensors(
      {{expected("tf_2_15", "input_0")}, {expected("tf_2_15", "target_0"), expected("tf_2_15", "target_1")}});
  EXPECT_NEAR(outer.fit(rows.batch(4)).values.at("loss").back(), expected("tf_2_15", "loss").to_vector<float>()[0],
              1e-5);
}

INSTANTIATE_TEST_SUITE_P(Formats, Keras2Calls, testing::Values(".h5", ".keras"),
                         [](const auto& test) { return std::string(test.param + 1); });

}  // namespace
}  // namespace lockstep
