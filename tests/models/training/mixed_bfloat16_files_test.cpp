#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/training/clone_model.h>
#include <lockstep/models/training/model_files.h>

namespace lockstep::test {
namespace {

/// A model whose last layer is f32.
Model make_model() {
  const DTypePolicyScope scope("mixed_bfloat16");
  const Symbol x = Input({6, 6, 3});
  Symbol y = BatchNormalization()(Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = Activation::relu})(x));
  y = LayerNormalization()(Flatten()(y));
  const Dense last = with_dtype_policy("float32", [] { return Dense({.units = 3}); });
  return {x, last(y), {.seed = 4}};
}

std::vector<DTypePolicy> policies_of(const Model& model) {
  std::vector<DTypePolicy> policies;
  for (const Layer& layer : model.network().layers()) policies.push_back(layer.impl().dtype_policy());
  return policies;
}

TEST(MixedModelFile, IsOpenedWithThePoliciesOfItsLayers) {
  const TemporaryFolder folder;
  const Model model = make_model();
  const Tensor x = random_tensor({5, 6, 6, 3}, 1);
  for (const char* name : {"model.keras", "model.h5"}) {
    save_model(model, folder / name);
    const Model opened = load_model(folder / name);
    EXPECT_EQ(policies_of(opened), policies_of(model)) << name;
    expect_same_bits(opened(x), model(x));
    // The file determines the policy, whatever scope is open.
    const DTypePolicyScope scope("mixed_bfloat16");
    EXPECT_EQ(policies_of(load_model(folder / name)), policies_of(model)) << name;
  }
}

TEST(MixedModelFile, AModelOfF32StaysOneInAnotherScope) {
  const TemporaryFolder folder;
  const Symbol x = Input({3});
  const Model model(x, Dense({.units = 2})(x));
  save_model(model, folder / "model.keras");
  const DTypePolicyScope scope("mixed_bfloat16");
  EXPECT_EQ(policies_of(load_model(folder / "model.keras")), policies_of(model));
}

TEST(MixedModel, ItsCloneHasItsPolicies) {
  const Model model = make_model();
  EXPECT_EQ(policies_of(clone_model(model)), policies_of(model));
}

TEST(MixedModel, ItsWeightsAreThoseOfTheModelInF32) {
  const TemporaryFolder folder;
  const Model model = make_model();
  model.save_weights(folder / "model.weights.h5");
  const Symbol x = Input({6, 6, 3});
  Symbol y = BatchNormalization()(Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = Activation::relu})(x));
  Model plain(x, Dense({.units = 3})(LayerNormalization()(Flatten()(y))));
  plain.load_weights(folder / "model.weights.h5");
  const Tensor batch = random_tensor({5, 6, 6, 3}, 1);
  const std::vector<double> expected = plain(batch).to_vector<double>();
  EXPECT_THAT(model(batch).to_vector<double>(), testing::Pointwise(testing::DoubleNear(0.1), expected));
}

}  // namespace
}  // namespace lockstep::test
