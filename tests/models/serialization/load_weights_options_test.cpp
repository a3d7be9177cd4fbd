#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/serialization/file_formats.h>

// load_weights with options that skip what does not fit.

namespace lockstep::test {
namespace {

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
