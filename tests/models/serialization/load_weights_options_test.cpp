#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/serialization/file_formats.h>

// load_weights with options that skip what does not fit.

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LoadWeights : public testing::Test {
 protected:
  /// Loads a file with options and returns the warnings.
  static std::string warnings_of(const Model& model, const std::string& file, const LoadWeightsOptions& options) {
    testing::internal::CaptureStderr();
    Model(model).load_weights(file, options);
    return testing::internal::GetCapturedStderr();
  }

  TemporaryFolder folder_;
};

/// Dense layers with these names and units.
Model dense_layers(const std::vector<std::pair<std::string, std::int64_t>>& layers, std::uint64_t seed) {
  const Symbol x = Input({4});
  Symbol y = x;
  for (const auto& [name, units] : layers) y = Dense({.units = units, .name = name})(y);
  return {x, y, {.seed = seed}};
}

const std::vector<std::pair<std::string, std::int64_t>> layers_of_file{{"a", 4}, {"b", 4}, {"c", 3}};

/// Expects the variables [begin, end) of `model` to have the values of those from `first` on in `saved`.
void expect_loaded(const Model& model, std::size_t begin, std::size_t end, const Model& saved, std::size_t first) {
  for (std::size_t i = begin; i < end; ++i) EXPECT_EQ(weights_of(model)[i], weights_of(saved)[first + i - begin]) << i;
}

TEST_F(LoadWeights, OfLayersThatDoNotFitAreSkippedIfAsked) {
  const Model saved = dense_layers(layers_of_file, 1);
  for (const std::string name : {"model.weights.h5", "model.keras", "model.h5", "model.safetensors"}) {
    const std::string file = folder_ / name;
    SCOPED_TRACE(file);
    if (name == "model.keras" || name == "model.h5")
      saved.save(file);
    else
      saved.save_weights(file);
    Model wider = dense_layers({{"a", 4}, {"b", 4}, {"c", 5}}, 2);
    const auto before = weights_of(wider);
    EXPECT_ERROR(InputError, "weight 'c/kernel'", wider.load_weights(file));
    EXPECT_EQ(weights_of(wider), before);
    const std::string warnings = warnings_of(wider, file, {.skip_mismatch = true});
    EXPECT_THAT(warnings, HasSubstr(file + ": weight 'c/kernel'"));
    EXPECT_THAT(warnings, HasSubstr("(4, 5)"));
    EXPECT_THAT(warnings, HasSubstr("; skipped"));
    expect_loaded(wider, 0, 4, saved, 0);
    EXPECT_EQ(weights_of(wider)[4], before[4]);
    EXPECT_EQ(weights_of(wider)[5], before[5]);
  }
}

/// A model of `inputs` features that calls another model, with layers "a" and "b", and then its layer "c".
Model around_a_model(std::int64_t inputs, std::uint64_t seed) {
  const auto dense = [](const std::string& name) {
    return Dense({.units = 3, .bias_initializer = random_normal(), .name = name});
  };
  const Symbol inner = Input({inputs});
  const Model nested(inner, dense("b")(dense("a")(inner)), {.name = "nested", .seed = seed});
  const Symbol x = Input({inputs});
  return {x, dense("c")(nested(x)), {.seed = seed}};
}

/// For each weight, whether it has the value of `saved`; otherwise it must have the value `before`.
std::vector<bool> loaded(const Model& model, const std::vector<std::vector<double>>& before, const Model& saved) {
  std::vector<bool> result;
  for (std::size_t i = 0; i < before.size(); ++i) {
    result.push_back(weights_of(model)[i] == weights_of(saved)[i]);
    if (!result.back()) {
      EXPECT_EQ(weights_of(model)[i], before[i]) << i;
    }
  }
  return result;
}

// As Keras 3.15 loads the same files
TEST_F(LoadWeights, OfOtherShapesInANestedModelAreSkippedAsInKeras) {
  const Model saved = around_a_model(4, 1);
  for (const std::string name : {"model.h5", "model.weights.h5", "model.keras", "model.safetensors"}) {
    const std::string file = folder_ / name;
    SCOPED_TRACE(file);
    const bool whole_model = name == "model.h5" || name == "model.keras";
    whole_model ? saved.save(file) : saved.save_weights(file);
    const bool by_weight = name == "model.h5" || name == "model.safetensors";
    const Model wider = around_a_model(5, 2);
    const auto before = weights_of(wider);
    EXPECT_THAT(warnings_of(wider, file, {.skip_mismatch = true}), HasSubstr("(5, 3)"));
    EXPECT_THAT(loaded(wider, before, saved), ElementsAre(false, by_weight, true, true, true, true));
    if (name != "model.h5") continue;
    const Model by_name = around_a_model(5, 2);
    warnings_of(by_name, file, {.skip_mismatch = true, .by_name = true});
    EXPECT_THAT(loaded(by_name, before, saved), ElementsAre(false, true, true, true, true, true));
  }
}

/// One separable convolution with this number of filters.
Model separable(std::int64_t filters, std::uint64_t seed) {
  const Symbol x = Input({8, 8, 2});
  return {x, SeparableConv2D({.filters = filters, .kernel_size = {3, 3}})(x), {.seed = seed}};
}

/// One attention layer whose values have this size.
Model attention(std::int64_t value_dim, std::uint64_t seed) {
  const Symbol x = Input({5, 4});
  const MultiHeadAttention layer(
      {.num_heads = 2, .key_dim = 3, .value_dim = value_dim, .bias_initializer = random_normal()});
  return {x, layer({x, x}), {.seed = seed}};
}

// As Keras 3.15 loads the same files
TEST_F(LoadWeights, OfOneLayerAreSkippedAsInKeras) {
  for (const std::string name : {"model.h5", "model.weights.h5"}) {
    const std::string file = folder_ / name;
    SCOPED_TRACE(file);
    const auto load = [&](const Model& saved, const Model& other) {
      name == "model.h5" ? saved.save(file) : saved.save_weights(file);
      const auto before = weights_of(other);
      warnings_of(other, file, {.skip_mismatch = true});
      return loaded(other, before, saved);
    };
    EXPECT_THAT(load(separable(3, 1), separable(5, 2)), ElementsAre(true, false, false));
    // The kernels and biases of query, key, value and output.
    EXPECT_THAT(load(attention(3, 1), attention(5, 2)),
                ElementsAre(true, true, true, true, false, false, false, name == "model.h5"));
  }
}

TEST_F(LoadWeights, OfLayersThatOneSideLacksAreSkippedIfAsked) {
  const Model saved = dense_layers(layers_of_file, 1);
  Model shorter = dense_layers({{"a", 4}, {"b", 4}}, 2);
  Model longer = dense_layers({{"a", 4}, {"b", 4}, {"c", 3}, {"d", 2}}, 3);
  const std::vector<double> last = weights_of(longer).back();
  for (const char* name : {"model.weights.h5", "model.safetensors"}) {
    const std::string file = folder_ / name;
    SCOPED_TRACE(file);
    saved.save_weights(file);
    EXPECT_ERROR(InputError, "weights that the model lacks", shorter.load_weights(file));
    EXPECT_ERROR(InputError, "has no weight", longer.load_weights(file));
    EXPECT_THAT(warnings_of(shorter, file, {.skip_mismatch = true}), HasSubstr("weights that the model lacks"));
    expect_loaded(shorter, 0, 4, saved, 0);
    shorter.set_weights(dense_layers({{"a", 4}, {"b", 4}}, 2).get_weights());
    EXPECT_EQ(warnings_of(shorter, file, {.ignore_extra = true}), "");
    expect_loaded(shorter, 0, 4, saved, 0);
    EXPECT_THAT(warnings_of(longer, file, {.skip_mismatch = true}), HasSubstr("has no weight"));
    expect_loaded(longer, 0, 6, saved, 0);
    EXPECT_EQ(weights_of(longer).back(), last);
  }
  saved.save(folder_ / "model.h5");
  EXPECT_ERROR(InputError, "the model has 2 layers with weights, the file has 3",
               shorter.load_weights(folder_ / "model.h5", {.skip_mismatch = true}));
}

TEST_F(LoadWeights, ByNameMatchesLayersInAnyOrder) {
  const Model saved = dense_layers(layers_of_file, 1);
  for (const std::string name : {"model.h5", "model.safetensors"}) {
    const std::string file = folder_ / name;
    SCOPED_TRACE(file);
    if (name == "model.h5")
      saved.save(file);
    else
      saved.save_weights(file);
    const Model other = dense_layers({{"b", 4}, {"new", 4}, {"a", 4}}, 2);
    const auto before = weights_of(other);
    const std::string warnings = warnings_of(other, file, {.by_name = true});
    EXPECT_THAT(warnings, HasSubstr("'new"));
    EXPECT_THAT(warnings, HasSubstr(name == "model.h5" ? "model_weights/c" : "\"c/bias\""));
    expect_loaded(other, 0, 2, saved, 2);
    EXPECT_EQ(weights_of(other)[2], before[2]);
    expect_loaded(other, 4, 6, saved, 0);
    Model wider = dense_layers({{"a", 4}, {"b", 4}, {"c", 5}}, 3);
    EXPECT_ERROR(InputError, "weight 'c/kernel'", wider.load_weights(file, {.by_name = true}));
    EXPECT_NE(weights_of(wider)[0], weights_of(saved)[0]);
    warnings_of(wider, file, {.skip_mismatch = true, .by_name = true});
    expect_loaded(wider, 0, 4, saved, 0);
  }
  saved.save_weights(folder_ / "model.weights.h5");
  EXPECT_ERROR(InvalidArgument, "by_name is for Keras' legacy .h5 files and for .safetensors files",
               Model(saved).load_weights(folder_ / "model.weights.h5", {.by_name = true}));
}

}  // namespace
}  // namespace lockstep::test
