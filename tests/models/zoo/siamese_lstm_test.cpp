#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/rmsprop.h>
#include <lockstep/models/zoo/siamese_lstm.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep::test {
namespace {

constexpr zoo::SiameseLstmOptions small{.time_steps = 4, .features = 5, .units = 3};

TEST(SiameseLstm, HasTheRecipesLayersShapesAndParameters) {
  const Model model = zoo::siamese_lstm();
  EXPECT_EQ(model.count_params(), 82305);
  EXPECT_EQ(model.network().output_shape(), Shape{1});
  ASSERT_EQ(model.network().inputs().size(), 2U);
  for (const NetworkInput& input : model.network().inputs()) EXPECT_EQ(input.shape, (Shape{140, 256}));
  std::vector<std::string> names;
  for (const Layer& layer : model.network().layers()) names.push_back(layer.name());
  EXPECT_EQ(names, (std::vector<std::string>{"lstm", "concatenate", "dense"}));
  EXPECT_EQ(model.network().calls().size(), 4U) << "the LSTM is called twice";
}

TEST(SiameseLstm, EncodesBothInputsWithTheSameWeights) {
  const Model model = zoo::siamese_lstm(small);
  const std::vector<Variable> weights = model.variables();
  const Tensor a = random_tensor({6, 4, 5}, 1);
  const Tensor b = random_tensor({6, 4, 5}, 2);
  const auto encode = [&](const Tensor& x) {
    return lstm(x, weights[0].value(), weights[1].value(), weights[2].value(), false);
  };
  const std::vector<Tensor> encoded{encode(a), encode(b)};
  expect_same_bits(model(std::vector{a, b}),
                   sigmoid(dense(concatenate(encoded, -1), weights[3].value(), weights[4].value())));
}

TEST(SiameseLstm, LearnsOnTwoReplicas) {
  const MirroredStrategy strategy = mirrored(2);
  const Model model = strategy.scope([] { return zoo::siamese_lstm(small); });
  const RMSprop optimizer = strategy.scope([] { return RMSprop(); });
  const BinaryCrossentropy loss;
  constexpr std::int64_t rows = 4;  // on each replica
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) {
    const PerReplica<double> parts = strategy.run([&] {
      const auto replica = static_cast<unsigned>(this_replica());
      GradientTape tape;
      const Tensor predictions =
          model({random_tensor({rows, 4, 5}, 2 * replica), random_tensor({rows, 4, 5}, 2 * replica + 1)}, Mode::train);
      const Tensor part =
          sum(loss(Tensor::from(std::vector<float>{0, 1, 1, 0}, {rows, 1}), predictions)) / (2.0 * rows);
      optimizer.minimize(tape, part, model.trainable_variables());
      return static_cast<double>(part.item<float>());
    });
    losses.push_back(parts[0] + parts[1]);
    verify_mirrored(model.variables());
  }
  EXPECT_LT(losses[1], losses[0]);
  EXPECT_LT(losses[2], losses[1]);
}

}  // namespace
}  // namespace lockstep::test
