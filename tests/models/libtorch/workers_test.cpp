// Training of libtorch modules by several workers (support/workers.h) equals training of one module on whole batches.

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/temporary_folder.h>
#include <support/workers.h>

#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/files.h>
#include <lockstep/strategy/core/replica_context.h>

#include "nets.h"

namespace lockstep::test {
namespace {

class ModulesOfWorkers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(cluster_, nullptr) << "start this program with mpirun"; }

  /// Throws InputError on the last worker.
  void fail_on_last_worker() const {
    if (cluster_->rank() == cluster_->size() - 1) fail<InputError>("the picture is torn");
  }
  /// Checks that `call`, which fails on the last worker by fail_on_last_worker, fails on the others, too.
  void expect_end_on_all(const std::function<void()>& call) const {
    const int last = cluster_->size() - 1;
    const auto together = [&] {  // the notice arrives after all have left earlier collectives
      cluster_->all_gather("the start of the call", "");
      call();
    };
    if (cluster_->rank() == last)
      EXPECT_EQ(error_of<InputError>(together), "the picture is torn");
    else
      EXPECT_THAT(error_of<WorkerFailed>(together),
                  testing::AllOf(testing::HasSubstr(fmt::format("worker {} (host ", last)),
                                 testing::HasSubstr("the picture is torn")));
  }

  const MultiWorkerMirroredStrategy strategy_ = workers();
  Cluster* const cluster_ = strategy_.state()->cluster();
};

/// Two batches. Calls `fail` when it begins, gets a batch or moves to the next one, as `place` says.
struct FailingLoader {
  enum class Place { begin, batch, next };
  struct Iterator {
    const FailingLoader* loader;
    int number;
    torch::Tensor operator*() const { return loader->fail_at(Place::batch), torch::ones({4, 8}); }
    Iterator& operator++() { return loader->fail_at(Place::next), ++number, *this; }
    bool operator!=(const Iterator& other) const { return number != other.number; }
  };
  Iterator begin() const { return fail_at(Place::begin), Iterator{this, 0}; }
  Iterator end() const { return {this, 2}; }
  void fail_at(Place here) const {
    if (here == place) fail();
  }

  Place place;
  std::function<void()> fail;
};

class LoadersOfWorkers : public ModulesOfWorkers, public testing::WithParamInterface<FailingLoader::Place> {};

TEST_F(ModulesOfWorkers, StartWithTheChiefsValues) {
  torch::manual_seed(1 + cluster_->rank());
  const auto net = libtorch::mirror(strategy_, [] { return SmallNet(); });
  torch::manual_seed(1);
  const SmallNet of_chief;
  EXPECT_EQ(difference(*net.first(), *of_chief), 0);
}

TEST_F(ModulesOfWorkers, AreTheSameOnAllWorkers) {
  const auto mirror = [&](std::int64_t hidden) {
    return libtorch::mirror(strategy_, [hidden] { return SmallNet(hidden); });
  };
  EXPECT_THAT(error_of<InvalidArgument>([&] { mirror(cluster_->rank() == 1 ? 8 : 16); }),
              testing::AllOf(testing::HasSubstr("'first.weight' Float [16, 8] on worker 0"),
                             testing::HasSubstr("'first.weight' Float [8, 8] on worker 1")));
  EXPECT_NO_THROW(mirror(16));
}

TEST_F(ModulesOfWorkers, EndOnAllIfOneCannotBeMade) {
  expect_end_on_all([&] {
    libtorch::mirror(strategy_, [&] {
      fail_on_last_worker();
      return SmallNet();
    });
  });
}

TEST_P(LoadersOfWorkers, EndOnAllIfOneFails) {
  FailingLoader loader{.place = GetParam(), .fail = [&] { fail_on_last_worker(); }};
  expect_end_on_all([&] {
    for (auto&& batch : libtorch::distribute(strategy_, loader))
      strategy_.run([](const torch::Tensor&) { get_replica_context().all_reduce(ReduceOp::sum, 1.0); }, batch);
  });
}

INSTANTIATE_TEST_SUITE_P(Places, LoadersOfWorkers,
                         testing::Values(FailingLoader::Place::begin, FailingLoader::Place::batch,
                                         FailingLoader::Place::next));

TEST_F(ModulesOfWorkers, TrainAsOneModuleOnTheWholeBatch) {
  const auto net = mirrored_net(strategy_, 100'000);  // several buckets
  const auto optimizer = libtorch::optimizer<torch::optim::Adam>(net, torch::optim::AdamOptions(1e-3));
  torch::manual_seed(7);
  SmallNet alone(100'000);
  torch::optim::Adam of_alone(alone->parameters(), torch::optim::AdamOptions(1e-3));
  std::uint64_t seed = 0;
  for (const std::int64_t size : {7, 8, 1, 5}) {  // 1 leaves workers without rows
    const Rows all = rows(size, ++seed);
    const libtorch::ReplicaBatches batch(strategy_, all);
    strategy_.run(
        [&](const Rows& own) {
          optimizer->zero_grad();
          (loss_sum(net->forward(own.data), own.target) / batch.global_size()).backward();
          optimizer->step();
        },
        batch);
    of_alone.zero_grad();
    (loss_sum(alone->forward(all.data), all.target) / size).backward();
    of_alone.step();
  }
  EXPECT_LT(difference(*net.first(), *alone), 2e-5);
  EXPECT_TRUE(replicas_are_equal(net));
  EXPECT_NO_THROW(net.verify());
}

TEST_F(ModulesOfWorkers, AreTwoInOneBackward) {
  const auto net = mirrored_net(strategy_, 100'000);  // each module has several buckets
  const auto judge = libtorch::mirror(strategy_, [] { return torch::nn::Linear(3, 200'000); });
  for (int step = 1; step <= 2; ++step) {
    strategy_.run([&] { judge->forward(net->forward(torch::ones({1, 8}))).sum().backward(); });
    const auto expected = static_cast<float>(step * strategy_.num_replicas_in_sync());
    for (const auto& module : judge.replicas()) EXPECT_TRUE((module->bias.grad() == expected).all().item<bool>());
    const torch::Tensor slope = judge.first()->weight.sum(0);
    for (const auto& module : net.replicas())
      EXPECT_TRUE(torch::allclose(module->last->bias.grad(), expected * slope, 1e-3, 1e-2)) << step;
  }
}

TEST_F(ModulesOfWorkers, AreNotTwoInNestedBackwards) {
  const auto net = mirrored_net(strategy_, 100'000);  // the outer backward's exchange has begun before the inner one
  const auto judge = libtorch::mirror(strategy_, [] { return torch::nn::Linear(3, 2); });
  const auto step = [&] {
    const torch::Tensor y = torch::tanh(net->first(torch::ones({1, 8})));
    y.register_hook([&](const torch::Tensor& /*gradient*/) {
      const torch::AutoGradMode on(true);
      judge->forward(torch::ones({1, 3})).sum().backward();
    });
    net->last(y).sum().backward();
  };
  EXPECT_THAT(error_of<Error>([&] { strategy_.run(step); }),
              testing::HasSubstr("a backward inside the backward of another mirrored module"));
}

TEST_F(ModulesOfWorkers, AreTheSameOnTheReplicasOfAWorker) {
  if (replicas_on_each() == 1) GTEST_SKIP() << "needs several replicas on a worker";
  const auto net = mirrored_net(strategy_, 100'000);
  const auto other = mirrored_net(strategy_, 100'000);
  const auto step = [&] {
    const bool is_first = get_replica_context().local_replica() == 0;
    (is_first ? net : other)->forward(torch::ones({1, 8})).sum().backward();
  };
  EXPECT_THAT(error_of<Error>([&] { strategy_.run(step); }),
              testing::HasSubstr("the replicas exchange the gradients of different models"));
}

TEST_F(ModulesOfWorkers, CountParametersThatOneWorkerUses) {
  const auto net = mirrored_net(strategy_);
  strategy_.run([&] {
    const torch::Tensor x = torch::ones({1, 8});
    const bool last_replica = get_replica_context().replica_id_in_sync_group() == strategy_.num_replicas_in_sync() - 1;
    (last_replica ? net->forward(x) : net->first(x)).sum().backward();
  });
  EXPECT_THAT(net.unused_parameters(), testing::IsEmpty());
  EXPECT_EQ(net.first()->last->bias.grad()[0].item<float>(), 1);
}

TEST_F(ModulesOfWorkers, AreSavedByTheChief) {
  const TemporaryFolder folder;  // each worker has its own
  const auto net = mirrored_net(strategy_);
  libtorch::save(net, folder / "net.pt");
  EXPECT_EQ(folder.names().size(), cluster_->is_chief() ? 1U : 0U);
}

TEST_F(ModulesOfWorkers, FailOnAllIfOneCannotReadOrWriteAFile) {
  const TemporaryFolder folder;  // each worker has its own, in which only the chief writes
  const auto net = mirrored_net(strategy_);
  const auto optimizer = libtorch::optimizer<torch::optim::SGD>(net, torch::optim::SGDOptions(0.5));
  const auto expect_failure = [](int worker, const std::function<void()>& call) {
    EXPECT_THAT(error_of<InputError>(call), testing::HasSubstr(fmt::format("worker {} (host ", worker)));
  };
  for (const char* file : {"net.pt", "net.safetensors"}) {
    expect_failure(0, [&] { libtorch::save(net, std::string("/proc/none/") + file); });
    libtorch::save(net, folder / file);
  }
  expect_failure(0, [&] { libtorch::save(optimizer, "/proc/none/optimizer.pt"); });
  libtorch::save(optimizer, folder / "optimizer.pt");
  {
    const torch::NoGradGuard no_grad;
    net.for_each([](SmallNetImpl& own) { own.first->bias.fill_(3); });
  }
  optimizer.for_each([](torch::optim::SGD& own) { own.param_groups()[0].options().set_lr(0.25); });
  for (const char* file : {"net.pt", "net.safetensors"}) {
    expect_failure(1, [&] { libtorch::load(net, folder / file); });
    EXPECT_TRUE((net.first()->first->bias == 3).all().item<bool>()) << "also on the chief, which has the file";
  }
  expect_failure(1, [&] { libtorch::load(optimizer, folder / "optimizer.pt"); });
  EXPECT_EQ(optimizer.first()->param_groups()[0].options().get_lr(), 0.25);
}

}  // namespace
}  // namespace lockstep::test
