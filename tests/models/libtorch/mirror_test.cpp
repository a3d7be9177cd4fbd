// Training of libtorch modules over replicas equals training of one module on the whole batch.

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/mirror.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

#include "nets.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// Trains on batches of these sizes and returns the sum of the losses of each step.
template <class Net, class Optimizer>
std::vector<double> train(const Net& net, const Optimizer& optimizer, const std::vector<std::int64_t>& sizes) {
  std::vector<double> losses;
  for (const std::int64_t size : sizes) {
    const libtorch::ReplicaBatches batch(net.strategy(), rows(size, losses.size()));
    const auto parts = net.strategy().run(
        [&](const Rows& own) {
          optimizer->zero_grad();
          const torch::Tensor loss = loss_sum(net->forward(own.data), own.target) / batch.global_size();
          loss.backward();
          optimizer->step();
          return loss.item<double>();
        },
        batch);
    double sum = 0;
    for (const double part : parts.local_results()) sum += part;
    losses.push_back(sum);
  }
  return losses;
}

/// One module and optimizer without a strategy, as the reference.
template <class Optimizer, class Options>
struct Alone {
  explicit Alone(const Options& options, std::int64_t hidden = 16) : optimizer(make(net, hidden), options) {}
  static std::vector<torch::Tensor> make(SmallNet& net, std::int64_t hidden) {
    torch::manual_seed(7);
    net = SmallNet(hidden);
    return net->parameters();
  }
  std::vector<double> train(const std::vector<std::int64_t>& sizes) {
    std::vector<double> losses;
    for (const std::int64_t size : sizes) {
      const Rows batch = rows(size, losses.size());
      optimizer.zero_grad();
      const torch::Tensor loss = loss_sum(net->forward(batch.data), batch.target) / size;
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    return losses;
  }

  SmallNet net{nullptr};
  Optimizer optimizer;
};

const std::vector<std::int64_t> uneven_batches{7, 8, 5, 2, 1, 7};

class MirroredModule : public testing::TestWithParam<int> {};

TEST_P(MirroredModule, TrainsAsOneModuleOnTheWholeBatch) {
  const auto options = torch::optim::AdamWOptions(1e-2).weight_decay(0.1);
  Alone<torch::optim::AdamW, torch::optim::AdamWOptions> alone(options);
  const std::vector<double> expected = alone.train(uneven_batches);
  const MirroredStrategy strategy = cpus(GetParam());
  const auto net = mirrored_net(strategy);
  const auto optimizer = libtorch::optimizer<torch::optim::AdamW>(net, options);
  EXPECT_THAT(train(net, optimizer, uneven_batches), testing::Pointwise(testing::DoubleNear(1e-5), expected));
  EXPECT_LT(difference(*net.first(), *alone.net), 1e-5);
  EXPECT_TRUE(replicas_are_equal(net));
}

TEST_P(MirroredModule, ExchangesLargeModulesInSeveralBuckets) {
  const std::int64_t hidden = 200'000;  // 6.4 MB and 2.4 MB of weights; the first bucket has 1 MB
  const auto options = torch::optim::SGDOptions(0.01).momentum(0.9);
  Alone<torch::optim::SGD, torch::optim::SGDOptions> alone(options, hidden);
  alone.train({5, 6, 7});
  const MirroredStrategy strategy = cpus(GetParam());
  const auto net = mirrored_net(strategy, hidden);
  train(net, libtorch::optimizer<torch::optim::SGD>(net, options), {5, 6, 7});
  EXPECT_LT(difference(*net.first(), *alone.net), 1e-5);
  EXPECT_TRUE(replicas_are_equal(net));
}

INSTANTIATE_TEST_SUITE_P(Replicas, MirroredModule, testing::Values(1, 2, 3));

TEST(MirroredModule, TrainsToTheSameBitsTwice) {
  const auto trained = [] {
    const MirroredStrategy strategy = cpus(3);
    const auto net = mirrored_net(strategy);
    train(net, libtorch::optimizer<torch::optim::Adam>(net, torch::optim::AdamOptions(1e-2)), uneven_batches);
    return net;
  };
  EXPECT_EQ(difference(*trained().first(), *trained().first()), 0);
}

TEST(MirroredModule, LeavesTheGeneratorAsAfterOneModule) {
  torch::manual_seed(3);
  const SmallNet one;
  const torch::Tensor expected = torch::rand({4});
  torch::manual_seed(3);
  libtorch::mirror(cpus(3), [] { return SmallNet(); });
  EXPECT_TRUE(torch::equal(torch::rand({4}), expected));
}

TEST(MirroredModule, ClipsTheNormOfTheSums) {
  const auto options = torch::optim::SGDOptions(0.5);
  SmallNet alone(nullptr);
  const auto clip = [](torch::nn::Module& module) {
    return torch::nn::utils::clip_grad_norm_(module.parameters(), 0.01);
  };
  const MirroredStrategy strategy = cpus(3);
  const auto net = mirrored_net(strategy);
  torch::manual_seed(7);
  alone = SmallNet();
  const Rows all = rows(7);
  const libtorch::ReplicaBatches batch(strategy, all);
  const auto norms = strategy.run(
      [&](const Rows& own) {
        (loss_sum(net->forward(own.data), own.target) / batch.global_size()).backward();
        return clip(*net);
      },
      batch);
  (loss_sum(alone->forward(all.data), all.target) / 7).backward();
  const double expected = clip(*alone);
  EXPECT_THAT(norms.local_results(), testing::Each(testing::DoubleNear(expected, 1e-6)));
  EXPECT_TRUE(torch::allclose(net.first()->first->weight.grad(), alone->first->weight.grad(), 1e-4, 1e-7));
}

TEST(MirroredModule, AccumulatesWithoutSumsInNoSync) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const Rows all = rows(8);
  const libtorch::ReplicaBatches first(strategy, libtorch::narrow_rows(all, 0, 5));
  const libtorch::ReplicaBatches second(strategy, libtorch::narrow_rows(all, 5, 3));
  strategy.run(
      [&](const Rows& a, const Rows& b) {
        const auto backward = [&](const Rows& own) { loss_sum(net->forward(own.data), own.target).backward(); };
        net.no_sync([&] { backward(a); });
        backward(b);
      },
      first, second);
  SmallNet alone;
  torch::nn::utils::vector_to_parameters(torch::nn::utils::parameters_to_vector(net.first()->parameters()),
                                         alone->parameters());
  loss_sum(alone->forward(all.data), all.target).backward();
  for (const auto& module : net.replicas())
    EXPECT_TRUE(torch::allclose(module->first->weight.grad(), alone->first->weight.grad(), 1e-4, 1e-5));
}

TEST(MirroredModule, TrainsInAutocast) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const auto optimizer = libtorch::optimizer<torch::optim::SGD>(net, torch::optim::SGDOptions(0.1));
  const libtorch::ReplicaBatches batch(strategy, rows(8));
  strategy.run(
      [&](const Rows& own) {
        at::autocast::set_autocast_enabled(at::kCPU, true);
        at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
        const torch::Tensor logits = net->forward(own.data);
        at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(at::kCPU, false);
        EXPECT_EQ(logits.scalar_type(), torch::kBFloat16);
        loss_sum(logits.to(torch::kFloat), own.target).backward();
        optimizer->step();
      },
      batch);
  EXPECT_TRUE(replicas_are_equal(net));
}

/// Has layers that the loss may not depend on.
struct BranchesImpl : torch::nn::Module {
  BranchesImpl()
      : used(register_module("used", torch::nn::Linear(8, 3))),
        sometimes(register_module("sometimes", torch::nn::Linear(8, 3))),
        never(register_module("never", torch::nn::Linear(8, 3))) {}
  torch::nn::Linear used;
  torch::nn::Linear sometimes;
  torch::nn::Linear never;
};
TORCH_MODULE(Branches);

TEST(UnusedParameters, HaveNoGradientAndAreNamed) {
  const MirroredStrategy strategy = cpus(3);
  const auto net = libtorch::mirror(strategy, [] { return Branches(); });
  const torch::Tensor before = net.first()->never->weight.detach().clone();
  const auto optimizer =
      libtorch::optimizer<torch::optim::AdamW>(net, torch::optim::AdamWOptions(0.1).weight_decay(0.5));
  const torch::Tensor x = torch::ones({2, 8});
  strategy.run([&] {
    torch::Tensor y = net->used(x);
    if (get_replica_context().local_replica() == 1) y = y + net->sometimes(x);
    y.sum().backward();
    optimizer->step();
  });
  EXPECT_THAT(net.unused_parameters(), ElementsAre("never.weight", "never.bias"));
  for (const auto& module : net.replicas()) {
    EXPECT_FALSE(module->never->weight.grad().defined());
    EXPECT_TRUE(torch::equal(module->never->weight, before)) << "weight decay changed it";
    EXPECT_TRUE(torch::equal(module->used->weight.grad(), torch::full({3, 8}, 6.0)));
    EXPECT_TRUE(torch::equal(module->sometimes->weight.grad(), torch::full({3, 8}, 2.0)));
  }
  EXPECT_TRUE(replicas_are_equal(net));
}

TEST(UnusedParameters, MayDifferFromStepToStep) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] { return Branches(); });
  const torch::Tensor x = torch::ones({2, 8});
  const auto step = [&](auto layer_of) {
    strategy.run([&] {
      net->zero_grad();
      layer_of (*net)(x).sum().backward();
    });
  };
  step([](BranchesImpl& own) { return own.used; });
  step([](BranchesImpl& own) { return own.sometimes; });
  EXPECT_THAT(net.unused_parameters(), ElementsAre("used.weight", "used.bias", "never.weight", "never.bias"));
  EXPECT_FALSE(net.first()->used->weight.grad().defined());
}

TEST(UnusedParameters, AreNamedWithGradientsZeroedInPlace) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  strategy.run([&] { net->forward(torch::ones({2, 8})).sum().backward(); });
  strategy.run([&] {
    net->zero_grad(/*set_to_none=*/false);
    net->first(torch::ones({2, 8})).sum().backward();
  });
  EXPECT_THAT(net.unused_parameters(), ElementsAre("last.weight", "last.bias"));
  EXPECT_TRUE(torch::equal(net.first()->last->bias.grad(), torch::zeros({3})));
}

/// Registers one parameter under two names.
struct TiedImpl : torch::nn::Module {
  TiedImpl() : weight(register_parameter("encoder", torch::eye(4))) { register_parameter("decoder", weight); }
  torch::Tensor weight;
};

TEST(SharedParameters, AreSummedOnce) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] { return std::make_shared<TiedImpl>(); });
  strategy.run([&] { (net->weight.sum() + 2 * net->weight.sum()).backward(); });
  EXPECT_TRUE(torch::equal(net.first()->weight.grad(), torch::full({4, 4}, 6.0)));
}

TEST(SharedParameters, AreNotTwoTensorsWithTheSameMemory) {
  EXPECT_THAT(
      [] {
        libtorch::mirror(cpus(2), [] {
          SmallNet own(8);
          own->last->weight.set_data(own->first->weight.data().slice(0, 2, 5));
          return own;
        });
      },
      ThrowsMessage<Unsupported>("'first.weight' and 'last.weight' share memory, but are different tensors: register "
                                 "one tensor under both names"));
}

TEST(SparseGradients, AreSummedAsDenseOnes) {
  const MirroredStrategy strategy = cpus(2);
  const auto net =
      libtorch::mirror(strategy, [] { return torch::nn::Embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true)); });
  strategy.run([&] { net->forward(torch::tensor({1, 1 + get_replica_context().local_replica()})).sum().backward(); });
  const torch::Tensor counts = torch::tensor({{0, 0}, {3, 3}, {1, 1}, {0, 0}}).to(torch::kFloat);
  for (const auto& module : net.replicas()) EXPECT_TRUE(torch::equal(module->weight.grad(), counts));
}

TEST(FrozenParameters, AreEqualOnAllReplicasAndHaveNoGradient) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] {
    SmallNet own;
    own->first->weight.requires_grad_(false);
    return own;
  });
  EXPECT_TRUE(replicas_are_equal(net));
  const libtorch::ReplicaBatches batch(strategy, rows(4));
  strategy.run([&](const Rows& own) { loss_sum(net->forward(own.data), own.target).backward(); }, batch);
  EXPECT_FALSE(net.first()->first->weight.grad().defined());
  EXPECT_THAT(net.unused_parameters(), IsEmpty());
}

TEST(FrozenParameters, MayBeFrozenLaterButNotThawed) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] {
    SmallNet own;
    own->first->weight.requires_grad_(false);
    return own;
  });
  const auto step = [&] { strategy.run([&] { net->forward(torch::ones({1, 8})).sum().backward(); }); };
  for (const auto& module : net.replicas()) module->last->weight.requires_grad_(false);
  step();
  EXPECT_THAT(net.unused_parameters(), ElementsAre("last.weight"));
  for (const auto& module : net.replicas()) module->first->weight.requires_grad_(true);
  EXPECT_THAT(step, ThrowsMessage<LogicError>(HasSubstr("parameter 'first.weight' was frozen when its module was "
                                                        "mirrored")));
}

TEST(FrozenParameters, MayBeAllThereAre) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] {
    SmallNet own;
    for (torch::Tensor& parameter : own->parameters()) parameter.requires_grad_(false);
    return own;
  });
  EXPECT_TRUE(replicas_are_equal(net));
  const auto sums = strategy.run([&] { return net->forward(torch::ones({2, 8})).sum().item<double>(); });
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(ParameterGroupsAndSchedulers, AreMadeForEachReplica) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const auto optimizer = libtorch::replicate(net, [](SmallNetImpl& own) {
    auto slow = std::make_unique<torch::optim::SGDOptions>(0.01);
    std::vector<torch::optim::OptimizerParamGroup> groups{{own.first->parameters(), std::move(slow)},
                                                          {own.last->parameters()}};
    return torch::optim::SGD(groups, torch::optim::SGDOptions(0.1));
  });
  const auto scheduler =
      libtorch::replicate(optimizer, [](torch::optim::SGD& own) { return torch::optim::StepLR(own, 1, 0.5); });
  for (int epoch = 0; epoch < 2; ++epoch) strategy.run([&] { scheduler->step(); });
  for (const auto& own : optimizer.replicas()) {
    EXPECT_DOUBLE_EQ(own->param_groups()[0].options().get_lr(), 0.005);
    EXPECT_DOUBLE_EQ(own->param_groups()[1].options().get_lr(), 0.05);
  }
}

TEST(Buffers, AreOfEachReplica) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = libtorch::mirror(strategy, [] { return torch::nn::BatchNorm1d(3); });
  strategy.run([&] { net->forward(torch::full({4, 3}, 1.0 + get_replica_context().local_replica())); });
  EXPECT_TRUE(torch::allclose(net.replicas()[0]->running_mean, torch::full({3}, 0.1)));
  EXPECT_TRUE(torch::allclose(net.replicas()[1]->running_mean, torch::full({3}, 0.2)));
}

TEST(Buffers, AreSynchronizedOnRequest) {
  const MirroredStrategy strategy = cpus(3);
  const auto net = libtorch::mirror(strategy, [] {
    torch::nn::BatchNorm1d own(3);
    own->register_buffer("seen", torch::zeros({1}, torch::kDouble));
    return own;
  });
  strategy.run([&] {
    for (int i = 0; i <= get_replica_context().local_replica(); ++i) net->forward(torch::full({4, 3}, 1.0 + i));
    net->named_buffers()["seen"].fill_(7 + get_replica_context().local_replica());
  });
  const torch::Tensor mean =
      (net.replicas()[0]->running_mean + net.replicas()[1]->running_mean + net.replicas()[2]->running_mean) / 3;
  net.synchronize_buffers();
  for (const auto& module : net.replicas()) {
    EXPECT_TRUE(torch::allclose(module->running_mean, mean));
    EXPECT_EQ(module->num_batches_tracked.item<std::int64_t>(), 1);
    EXPECT_EQ(module->named_buffers()["seen"].item<double>(), 7);
  }
}

TEST(Mirror, VerifiesThatReplicasAreEqual) {
  const auto net = libtorch::mirror(cpus(2), [] {
    SmallNet own;
    own->last->bias.requires_grad_(false);
    return own;
  });
  EXPECT_NO_THROW(net.verify());
  net.replicas()[1]->last->bias.data()[2] = 7;
  EXPECT_THAT([&] { net.verify(); },
              ThrowsMessage<BrokenInvariant>(HasSubstr("the copies of 'last.bias' differ: element 2 is")));
}

TEST(Mirror, RefusesModulesThatChange) {
  const MirroredStrategy strategy = cpus(2);
  const auto step_after = [&](const std::function<void(SmallNetImpl&)>& change) {
    const auto net = mirrored_net(strategy);
    net.for_each(change);
    strategy.run([&] { net->forward(torch::ones({1, 8})).sum().backward(); });
  };
  EXPECT_NO_THROW(step_after([](SmallNetImpl& own) { own.to(torch::kFloat); }));
  EXPECT_THAT([&] { step_after([](SmallNetImpl& own) { own.register_parameter("late", torch::ones({3})); }); },
              ThrowsMessage<LogicError>(HasSubstr("'late' was registered after mirror(), so the replicas would differ: "
                                                  "register it in the function passed to mirror()")));
  EXPECT_THAT(
      [&] { step_after([](SmallNetImpl& own) { own.last = own.replace_module("last", torch::nn::Linear(16, 3)); }); },
      ThrowsMessage<LogicError>(HasSubstr("'last.weight' was registered after mirror()")));
  EXPECT_THAT([&] { step_after([](SmallNetImpl& own) { own.unregister_module("last"); }); },
              ThrowsMessage<LogicError>(HasSubstr("were removed from the module after mirror()")));
  EXPECT_THAT(
      [&] { step_after([](SmallNetImpl& own) { own.to(torch::kDouble); }); },
      ThrowsMessage<LogicError>(HasSubstr("'first.weight' has become Double [16, 8] after mirror(), it was Float "
                                          "[16, 8]: convert the module in the function passed to mirror()")));
}

TEST(Mirror, RefusesModulesThatAreNotNew) {
  const torch::nn::Linear shared(8, 4);
  EXPECT_THAT(
      [&] { libtorch::mirror(cpus(2), [&] { return torch::nn::Sequential(torch::nn::Linear(8, 8), shared); }); },
      ThrowsMessage<InvalidArgument>("replica 1 has the same '1.weight' as another: the function passed to "
                                     "mirror() must make a new module"));
  EXPECT_THAT([] { libtorch::mirror(cpus(2), [] { return SmallNet(nullptr); }); },
              ThrowsMessage<InvalidArgument>("the function passed to mirror() returned an empty module holder"));
  EXPECT_THAT([] { libtorch::mirror(cpus(2), [] { return std::shared_ptr<SmallNetImpl>(); }); },
              ThrowsMessage<InvalidArgument>("the function passed to mirror() returned a null pointer"));
}

TEST(Mirror, DrawsTheSameNumbersTwiceWithSequentialReplicas) {
  const MirroredStrategy strategy(logical_cpus(2), {.sequential = true});
  const auto outputs = [&] {
    torch::manual_seed(3);
    const auto net = libtorch::mirror(
        strategy, [] { return torch::nn::Sequential(torch::nn::Linear(4, 4), torch::nn::Dropout(0.5)); });
    const auto drawn = strategy.run([&] {
      const torch::Tensor y = net->forward(torch::ones({64, 4}));
      y.sum().backward();
      return y.detach();
    });
    return std::pair(drawn[0], drawn[1]);
  };
  const auto [first, second] = outputs();
  const auto again = outputs();
  EXPECT_FALSE(torch::equal(first, second));
  EXPECT_TRUE(torch::equal(again.first, first));
  EXPECT_TRUE(torch::equal(again.second, second));
}

TEST(Mirror, RefusesModulesThatDiffer) {
  const auto mirror_layers = [](std::vector<torch::nn::Linear> layers) {
    auto next = layers.begin();
    libtorch::mirror(cpus(2), [&] { return torch::nn::Sequential(*next++); });
  };
  using torch::nn::Linear;
  using torch::nn::LinearOptions;
  EXPECT_THAT(
      [&] {
        mirror_layers({Linear(8, 4), Linear(8, 5)});
      },
      ThrowsMessage<InvalidArgument>("the modules differ: replica 1 has 0.weight Float [5, 8] where replica 0 has "
                                     "0.weight Float [4, 8]; make them all alike"));
  EXPECT_THAT(
      [&] {
        mirror_layers({Linear(8, 4), Linear(LinearOptions(8, 4).bias(false))});
      },
      ThrowsMessage<InvalidArgument>("the modules differ: replica 1 has 1 parameters and buffers, replica 0 has 2"));
}

TEST(Mirror, RefusesWhatItCannotTrain) {
  EXPECT_THAT(
      [] {
        libtorch::mirror(cpus(2), [] {
          torch::nn::Linear made(2, 2);
          made->to(torch::kDouble);
          return made;
        });
      },
      ThrowsMessage<Unsupported>("parameter 'weight' is Double [2, 2]: only Float can be trained over replicas"));
  EXPECT_THAT(
      [] {
        libtorch::mirror(CentralStorageStrategy({"CPU:0", "CPU:1"}), [] { return SmallNet(); });
      },
      ThrowsMessage<Unsupported>(HasSubstr("needs a copy of the parameters for each replica")));
  const MirroredStrategy strategy = cpus(2);
  EXPECT_THAT([&] { strategy.run([&] { libtorch::mirror(strategy, [] { return SmallNet(); }); }); },
              ThrowsMessage<LogicError>(HasSubstr("mirror() was called inside a replica")));
}

TEST(Replicated, IsNotReachedFromOutsideByAnArrow) {
  const auto net = mirrored_net(cpus(2));
  EXPECT_THAT([&] { net->eval(); },
              ThrowsMessage<LogicError>("outside run(), each of the 2 replicas has its own module or optimizer: use "
                                        "for_each() for all of them, or first() to read one"));
  net.for_each([](SmallNetImpl& own) { own.eval(); });
  for (const auto& module : net.replicas()) EXPECT_FALSE(module->is_training());
  mirrored_net(cpus(1))->eval();
}

TEST(Mirror, BelongsToOneStrategy) {
  const auto net = mirrored_net(cpus(2));
  EXPECT_THAT([&] { cpus(2).run([&] {
                      net->forward(torch::ones({1, 8}));
                    }); },
              ThrowsMessage<LogicError>(
                  HasSubstr("this module or optimizer belongs to a strategy other than the running one")));
}

}  // namespace
}  // namespace lockstep::test
