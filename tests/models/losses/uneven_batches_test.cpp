#include <ostream>

#include <gtest/gtest.h>
#include <support/small_problem.h>
#include <support/tolerance.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/keras_losses.h>
#include <lockstep/runtime/autograd/tape.h>

// Losses in fit over several replicas, with sample weights and examples that the replicas do not divide.

namespace lockstep {
namespace {

constexpr std::int64_t examples = 7;

struct UnevenCase {
  Loss loss;
  bool takes_labels = false;
};

/// Makes GoogleTest print a parameter.
void PrintTo(const UnevenCase& of, std::ostream* out) { *out << of.loss.name(); }

/// Three probabilities from five numbers, with the same weights each time.
Model make_model(const Strategy& strategy) {
  const auto inside = strategy.scope();
  const Symbol input = Input({5});
  return {input, Dense({.units = 3, .activation = Activation::sigmoid})(input), {.seed = 3}};
}

struct Batch {
  explicit Batch(bool with_labels) {
    const Tensor one_hot =
        Tensor::from(std::vector<float>{1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0}, {examples, 3});
    y = with_labels ? Tensor::from(std::vector<std::int64_t>{0, 2, 1, 0, 2, 2, 1}, {examples}) : one_hot;
  }

  Tensor x = test::random_tensor({examples, 5}, 1);
  Tensor y;
  Tensor weight = Tensor::from(std::vector<float>{1, 0.5F, 2, 0, 1, 1.5F, 3}, {examples});
};

class LossesOn : public testing::TestWithParam<std::tuple<int, UnevenCase>> {};

/// The weighted loss of `replicas` shares, one after the other on one device, over all examples.
Tensor mean_over_shares(const Loss& loss, const Model& model, const Batch& data, int replicas) {
  Tensor total = Tensor::zeros({});
  std::int64_t begin = 0;
  for (int replica = 0; replica < replicas; ++replica) {
    const std::int64_t end = begin + examples / replicas + (replica < examples % replicas ? 1 : 0);
    const Tensor p = model.run({data.x.slice_view(0, begin, end)}, Mode::train).at(0);
    total += sum(loss(data.y.slice_view(0, begin, end), p) * data.weight.slice_view(0, begin, end));
    begin = end;
  }
  return total / static_cast<double>(examples);
}

TEST_P(LossesOn, AreTheMeanOverTheGlobalBatch) {
  const auto& [replicas, of] = GetParam();
  const Batch data(of.takes_labels);
  const Model reference = make_model(get_strategy());
  const auto before = test::weights_of(reference);
  GradientTape tape;
  // ignore_class is a mean over the labels of all replicas.
  const Tensor expected = mean_over_shares(of.loss, reference, data, of.takes_labels ? 1 : replicas);
  SGD({.learning_rate = 0.5}).minimize(tape, expected, reference.trainable_variables());

  Model model = make_model(test::mirrored(replicas));
  model.compile(SGD({.learning_rate = 0.5}), of.loss);
  const History history = model.fit(Dataset::from_tensors(data.x, data.y, data.weight).batch(examples));
  EXPECT_NEAR(history.values.at("loss").at(0), expected.item<float>(), test::tolerance(DType::f32, examples, 2));
  const auto weights = test::weights_of(model);
  const auto after = test::weights_of(reference);
  EXPECT_NE(after, before);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].size(); ++k)
      EXPECT_NEAR(weights[i][k], after[i][k], test::tolerance(DType::f32, examples, 1)) << i << ": " << k;
}

INSTANTIATE_TEST_SUITE_P(
    Replicas, LossesOn,
    testing::Combine(testing::Values(1, 3),
                     testing::Values(UnevenCase{BinaryFocalCrossentropy()}, UnevenCase{CategoricalFocalCrossentropy()},
                                     UnevenCase{CategoricalFocalCrossentropy({.alpha = {0.5, 2, 1}})},
                                     UnevenCase{Hinge()}, UnevenCase{SquaredHinge()}, UnevenCase{CategoricalHinge()},
                                     UnevenCase{Dice()}, UnevenCase{Dice({.axis = {1}})}, UnevenCase{Tversky()},
                                     UnevenCase{CosineSimilarity()},
                                     UnevenCase{SparseCategoricalCrossentropy({.ignore_class = 2}), true})),
    [](const auto& info) {
      return fmt::format("{}{}On{}", std::get<1>(info.param).loss.name(), info.index, std::get<0>(info.param));
    });

}  // namespace
}  // namespace lockstep
