#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

Network small_network(std::uint64_t seed = 0) {
  const Symbol x = Input({3});
  return {x, BatchNormalization({.name = "norm"})(Dense({.units = 2, .name = "dense"})(x)), seed};
}

/// Tests that every format of weights must pass.
class WeightsFormats : public testing::TestWithParam<const WeightsFormat*> {
 protected:
  test::TemporaryFolder folder_;
  const std::string name_ = "model" + std::string(GetParam()->extension);
  const std::string file_ = folder_ / name_;
};

// semantics 11.1: weights saved with one number of replicas can be loaded with any other number.
TEST_P(WeightsFormats, GiveWeightsBackToOtherNumbersOfReplicas) {
  const MirroredStrategy three(logical_cpus(3));
  const Network saved = three.scope([] { return small_network(1); });
  unsigned seed = 0;
  for (const Variable& variable : saved.variables())
    variable.assign(test::random_tensor(variable.shape(), seed++, 0.5, 1.5));
  save_weights(saved, file_);
  const MirroredStrategy two(logical_cpus(2));
  const Network loaded = two.scope([] { return small_network(2); });
  load_weights(loaded, file_);
  for (std::size_t i = 0; i < saved.variables().size(); ++i) {
    const Variable variable = loaded.variables()[i];
    for (const Tensor& copy : variable.state().copies()) test::expect_same_bits(copy, saved.variables()[i].value());
  }
}

TEST_P(WeightsFormats, KeepTheOldFileWhenSavingFails) {
  const Network network = small_network();
  const std::string nowhere = folder_ / ("none/" + name_);
  EXPECT_EQ(test::error_of<InputError>([&] { save_weights(network, nowhere); }),
            nowhere + ": cannot be written: No such file or directory");
  test::write_text(file_, "old");
  EXPECT_ERROR(InputError, "Not a directory", save_weights(network, file_ + "/" + name_));
  EXPECT_EQ(test::contents_of(file_), "old");
  EXPECT_THAT(folder_.names(), ElementsAre(name_));
}

TEST_P(WeightsFormats, NameAFileThatIsOfNone) {
  const Network network = small_network();
  EXPECT_EQ(test::error_of<InputError>([&] { load_weights(network, file_); }), file_ + ": there is no such file");
  test::write_text(file_, "none");
  EXPECT_ERROR(InputError, file_ + ": ", load_weights(network, file_));
}

TEST_P(WeightsFormats, AreForOutsideTheReplicas) {
  const MirroredStrategy two(logical_cpus(2));
  const Network network = two.scope([] { return small_network(); });
  EXPECT_ERROR(LogicError, "save_weights works on all replicas' weights; call it outside a replica",
               two.run([&] { save_weights(network, file_); }));
  EXPECT_ERROR(LogicError, "load_weights works on all replicas' weights; call it outside a replica",
               two.run([&] { load_weights(network, file_); }));
  EXPECT_THAT(folder_.names(), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(Table, WeightsFormats, testing::ValuesIn(weights_formats));

TEST(FileFormats, AreFoundByNames) {
  EXPECT_EQ(weights_format_of("run.1/w.weights.h5"), &weights_h5_format);
  EXPECT_EQ(weights_format_of("w.safetensors"), &safetensors_format);
  for (const char* name : {"w.h5", "w.keras", "w.weights.h5.txt", "weights", ""})
    EXPECT_EQ(weights_format_of(name), nullptr) << name;
  EXPECT_EQ(model_format_of("m.keras"), &keras_format);
  EXPECT_EQ(model_format_of("m.h5"), &legacy_h5_format);
  EXPECT_EQ(model_format_of("m.hdf5"), &legacy_h5_format);
  for (const char* name : {"m.safetensors", "m.h5.txt", "keras", ""}) EXPECT_EQ(model_format_of(name), nullptr) << name;
}

TEST(FileFormats, AreListedInMessages) {
  EXPECT_EQ(weights_extensions(), ".weights.h5 or .safetensors");
  EXPECT_EQ(model_extensions(), ".keras or .h5");
  EXPECT_EQ(all_extensions(), ".weights.h5, .safetensors, .keras or .h5");
}

TEST(FileFormats, OfWeightsAreTheFirstWhereTheNameSaysNone) {
  const test::TemporaryFolder folder;
  const Network network = small_network();
  for (const char* name : {"w", "w.weights.h5"}) save_weights(network, folder / name);
  EXPECT_EQ(test::contents_of(folder / "w"), test::contents_of(folder / "w.weights.h5"));
  EXPECT_NO_THROW(load_weights(network, folder / "w"));
}

}  // namespace
}  // namespace lockstep
