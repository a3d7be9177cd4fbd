// What fails in backward ends the step on all replicas, and the next step works.

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/gradient_sums.h>
#include <lockstep/strategy/core/replica_context.h>

#include "nets.h"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class GradientSums : public testing::Test {
 protected:
  /// A whole step; afterwards the gradients are those of the whole batch.
  void expect_next_step_works() {
    const Rows all = rows(5);
    const libtorch::ReplicaBatches batch(strategy_, all);
    strategy_.run(
        [&](const Rows& own) {
          net_->zero_grad();
          loss_sum(net_->forward(own.data), own.target).backward();
        },
        batch);
    SmallNet alone;
    torch::nn::utils::vector_to_parameters(torch::nn::utils::parameters_to_vector(net_.first()->parameters()),
                                           alone->parameters());
    loss_sum(alone->forward(all.data), all.target).backward();
    for (const auto& module : net_.replicas())
      EXPECT_TRUE(torch::allclose(module->last->weight.grad(), alone->last->weight.grad(), 1e-4, 1e-5));
  }
  void backward() { net_->forward(torch::ones({2, 8})).sum().backward(); }

  MirroredStrategy strategy_ = cpus(3);
  libtorch::Mirrored<SmallNetImpl> net_ = mirrored_net(strategy_);
};

TEST_F(GradientSums, AreNotSummedAgain) {
  const auto step = [&] { strategy_.run([&] { backward(); }); };
  step();
  EXPECT_THAT(step, ThrowsMessage<LogicError>(
                        HasSubstr("is still the sum of an earlier backward, which would be summed again: call "
                                  "zero_grad() first, and all but the last backward of a step in no_sync()")));
  expect_next_step_works();
}

TEST_F(GradientSums, MayBeZeroedInPlace) {
  torch::Tensor first;
  for (int i = 0; i < 2; ++i) {
    strategy_.run([&] {
      net_->zero_grad(/*set_to_none=*/false);
      backward();
    });
    if (i == 0) first = net_.first()->last->weight.grad().clone();
  }
  EXPECT_TRUE(torch::equal(net_.first()->last->weight.grad(), first));
}

TEST_F(GradientSums, KeepTheirMemoryFromStepToStep) {
  void* memory = nullptr;
  for (int i = 0; i < 3; ++i) {
    strategy_.run([&] {
      net_->zero_grad();
      backward();
    });
    void* const now = net_.first()->first->weight.grad().data_ptr();
    EXPECT_TRUE(i == 0 || now == memory);
    memory = now;
  }
}

TEST_F(GradientSums, NeedBackwardOnEveryReplica) {
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          if (get_replica_context().local_replica() != 1) backward();
        });
      },
      ThrowsMessage<LogicError>(HasSubstr("replica(s) 1 ended the step without it")));
  expect_next_step_works();
}

TEST_F(GradientSums, AreComputedInReplicas) {
  EXPECT_THAT(
      [&] {
        net_.first()->forward(torch::ones({2, 8})).sum().backward();
      },
      ThrowsMessage<LogicError>("backward of replica 0's module runs outside that replica; call it inside "
                                "strategy.run()"));
  expect_next_step_works();
}

TEST_F(GradientSums, AreOfTheReplicasOwnModule) {
  EXPECT_THAT([&] { strategy_.run([&] {
                      net_.replicas()[0]->forward(torch::ones({2, 8})).sum().backward();
                    }); },
              ThrowsMessage<LogicError>(HasSubstr("backward of replica 0's module runs outside that replica")));
  expect_next_step_works();
}

/// Its backward throws.
struct Failing : torch::autograd::Function<Failing> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) { return x.clone(); }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*, const torch::autograd::tensor_list&) {
    throw std::runtime_error("this backward fails");
  }
};

TEST_F(GradientSums, ThatFailOnOneReplicaEndTheStepOnAll) {
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          torch::Tensor y = net_->first(torch::ones({2, 8}));
          if (get_replica_context().local_replica() == 2) y = Failing::apply(y);
          net_->last(y).sum().backward();
        });
      },
      ThrowsMessage<std::runtime_error>(HasSubstr("this backward fails")));
  expect_next_step_works();
}

TEST_F(GradientSums, MayHaveSecondOrder) {
  strategy_.run([&] {
    const torch::Tensor x = torch::ones({2, 8}).requires_grad_();
    const torch::Tensor y = net_->forward(x).sum();
    const torch::Tensor slope = torch::autograd::grad({y}, {x}, {}, {}, /*create_graph=*/true).front();
    slope.square().sum().backward();
  });
  for (const auto& module : net_.replicas())
    EXPECT_TRUE(torch::equal(module->first->weight.grad(), net_.first()->first->weight.grad()));
}

TEST_F(GradientSums, OutliveNothingOfTheModule) {
  const std::shared_ptr<SmallNetImpl> module = net_.replicas().front();
  net_ = mirrored_net(strategy_);  // the old sums are gone, and their hooks do nothing
  module->zero_grad();
  module->forward(torch::ones({2, 8})).sum().backward();
  EXPECT_TRUE(module->last->bias.grad().defined());
}

}  // namespace
}  // namespace lockstep::test
