// libtorch's optimizers on replicas equal one optimizer on the whole batch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/minimize.h>
#include <lockstep/models/libtorch/mirror.h>
#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/strategy/core/replica_context.h>

#include "nets.h"

namespace lockstep::test {
namespace {

/// Trains a module on three replicas and one alone. An optimizer may call `loss_and_gradients` several times in a step.
template <class Optimizer, class Options>
void expect_equal_training(const Options& options, double tolerance = 2e-5) {
  const MirroredStrategy strategy = cpus(3);
  const auto net = mirrored_net(strategy);
  const auto optimizer = libtorch::optimizer<Optimizer>(net, options);
  const auto of_one = mirrored_net(cpus(1));
  SmallNetImpl& alone = *of_one.first();
  Optimizer optimizer_alone(alone.parameters(), options);
  std::uint64_t seed = 0;
  for (const std::int64_t size : {7, 2, 8}) {  // 2 leaves one replica without rows
    const Rows all = rows(size, ++seed);
    const libtorch::ReplicaBatches batch(strategy, all);
    strategy.run(
        [&](const Rows& own) {
          optimizer->step([&] {
            optimizer->zero_grad();
            const torch::Tensor loss = loss_sum(net->forward(own.data), own.target) / batch.global_size();
            loss.backward();
            return libtorch::as_torch(get_replica_context().all_reduce("SUM", libtorch::from_torch(loss)));
          });
        },
        batch);
    optimizer_alone.step([&] {
      optimizer_alone.zero_grad();
      const torch::Tensor loss = loss_sum(alone.forward(all.data), all.target) / size;
      loss.backward();
      return loss;
    });
  }
  EXPECT_LT(difference(*net.first(), alone), tolerance);
  EXPECT_TRUE(replicas_are_equal(net));
  const auto untrained = mirrored_net(strategy);
  EXPECT_GT(difference(*untrained.first(), alone), 10 * tolerance);
}

TEST(OptimizersOfReplicas, TrainAsOneOnTheWholeBatch) {
  namespace optim = torch::optim;
  expect_equal_training<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
  expect_equal_training<optim::Adam>(optim::AdamOptions(1e-2).amsgrad(true));
  expect_equal_training<optim::AdamW>(1e-2);
  expect_equal_training<optim::Adagrad>(optim::AdagradOptions(1e-2).lr_decay(0.1));
  expect_equal_training<optim::RMSprop>(optim::RMSpropOptions(1e-2).momentum(0.9).centered(true));
}

TEST(OptimizersOfReplicas, SearchAlongALineByTheLossOfTheWholeBatch) {
  namespace optim = torch::optim;
  expect_equal_training<optim::LBFGS>(optim::LBFGSOptions(0.5).max_iter(6).line_search_fn("strong_wolfe"), 5e-4);
}

TEST(OptimizersOfLockstep, TrainAsOneOnTheWholeBatch) {
  const MirroredStrategy strategy = cpus(3);
  const auto net = mirrored_net(strategy);
  const SGD optimizer({.learning_rate = 0.1, .momentum = 0.9});
  const auto of_one = mirrored_net(cpus(1));
  SmallNetImpl& alone = *of_one.first();
  torch::optim::SGD optimizer_alone(alone.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  std::uint64_t seed = 0;
  for (const std::int64_t size : {7, 2, 8}) {
    const Rows all = rows(size, ++seed);
    const libtorch::ReplicaBatches batch(strategy, all);
    strategy.run(
        [&](const Rows& own) {
          libtorch::minimize(optimizer, net, loss_sum(net->forward(own.data), own.target) / batch.global_size());
        },
        batch);
    optimizer_alone.zero_grad();
    (loss_sum(alone.forward(all.data), all.target) / size).backward();
    optimizer_alone.step();
    EXPECT_LT(difference(*net.first(), alone), 2e-5);
    EXPECT_TRUE(replicas_are_equal(net));
  }
  EXPECT_EQ(optimizer.iterations(), 3);
  EXPECT_FALSE(net.first()->last->bias.grad().defined());
  EXPECT_NO_THROW(net.verify());
}

TEST(OptimizersOfLockstep, TakeNoGradientAsZero) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const SGD optimizer({.learning_rate = 0.1, .momentum = 0.9});
  const torch::Tensor x = torch::ones({2, 8});
  std::vector<torch::Tensor> before;
  for (const bool all : {true, false}) {
    before.push_back(net.first()->last->bias.detach().clone());
    strategy.run([&] { libtorch::minimize(optimizer, net, (all ? net->forward(x) : net->first(x)).sum()); });
  }
  EXPECT_TRUE(torch::allclose(net.first()->last->bias, before[1] + 0.9 * (before[1] - before[0])));
  EXPECT_TRUE(replicas_are_equal(net));
}

TEST(OptimizersOfLockstep, TakeSumsOfBackwardOnce) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const SGD optimizer({.learning_rate = 0.1});
  const torch::Tensor x = torch::ones({2, 8});
  const torch::Tensor before = net.first()->last->bias.detach().clone();
  strategy.run([&] {
    net->forward(x).sum().backward();  // adds 2 on each replica
    libtorch::minimize(optimizer, net, net->first(x).sum());
  });
  EXPECT_TRUE(torch::allclose(net.first()->last->bias, before - 0.4));
  strategy.run([&] {
    libtorch::minimize(optimizer, net, net->forward(x).sum());
    for (torch::Tensor& parameter : net->parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
    net->first(x).sum().backward();
  });
  EXPECT_EQ(net.first()->last->bias.grad()[0].item<float>(), 1);
}

TEST(OptimizersOfLockstep, RefuseModulesThatChange) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const SGD optimizer({.learning_rate = 0.1});
  const auto step = [&] {
    strategy.run([&] { libtorch::minimize(optimizer, net, net->forward(torch::ones({2, 8})).sum()); });
  };
  step();
  net.for_each([](SmallNetImpl& own) { own.register_parameter("late", torch::ones({3})); });
  EXPECT_THAT(step, testing::ThrowsMessage<LogicError>(testing::HasSubstr("'late' was registered after mirror()")));
}

TEST(SchedulersOfReplicas, SeeTheLossOfTheWholeBatch) {
  const auto net = mirrored_net(cpus(2));
  const auto optimizer = libtorch::optimizer<torch::optim::SGD>(net, torch::optim::SGDOptions(1));
  const auto scheduler = libtorch::replicate(optimizer, [](torch::optim::SGD& own) {
    using Plateau = torch::optim::ReduceLROnPlateauScheduler;
    return Plateau(own, Plateau::min, /*factor=*/0.5F, /*patience=*/0);
  });
  for (const float loss : {3.0F, 2.0F, 2.0F}) scheduler.for_each([&](auto& own) { own.step(loss); });
  optimizer.for_each([](torch::optim::SGD& own) { EXPECT_EQ(own.param_groups()[0].options().get_lr(), 0.5); });
}

}  // namespace
}  // namespace lockstep::test
