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

TEST_F(GradientSums, OfSeveralBackwardsAddUp) {
  const auto of_bias = [&](const auto& step) {
    net_.for_each([](SmallNetImpl& own) { own.zero_grad(); });
    strategy_.run(step);
    EXPECT_TRUE(torch::equal(net_.replicas()[2]->last->bias.grad(), net_.first()->last->bias.grad()));
    return net_.first()->last->bias.grad()[0].item<float>();
  };
  const auto backward = [&] { this->backward(); };  // adds 2 on each of the 3 replicas
  EXPECT_EQ(of_bias([&] {
              backward();
              backward();
            }),
            12);
  EXPECT_EQ(of_bias([&] {
              backward();
              net_.no_sync(backward);
              backward();
            }),
            18);
  EXPECT_EQ(of_bias([&] {
              const torch::Tensor loss = net_->forward(torch::ones({2, 8})).sum();
              for (int i = 0; i < 3; ++i) loss.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
            }),
            18);
  EXPECT_EQ(of_bias([&] {
              backward();
              torch::nn::utils::clip_grad_value_(net_->parameters(), 1.0);
              backward();
            }),
            7);
  EXPECT_EQ(of_bias([&] {
              for (torch::Tensor& parameter : net_->parameters())
                parameter.mutable_grad() = torch::ones_like(parameter);
              backward();
            }),
            7);
  EXPECT_EQ(of_bias([&] {
              backward();
              net_->first(torch::ones({2, 8})).sum().backward();  // leaves the last layer's gradients as they are
            }),
            6);
  EXPECT_THAT(net_.unused_parameters(), testing::ElementsAre("last.weight", "last.bias"));
  EXPECT_EQ(of_bias([&] {
              backward();
              for (int i = 0; i < 2; ++i) net_.no_sync(backward);
              net_->first(torch::ones({2, 8})).sum().backward();
            }),
            18);
  EXPECT_THAT(net_.unused_parameters(), testing::IsEmpty());
  expect_next_step_works();
}

TEST_F(GradientSums, AreForgottenWithTheGradients) {
  strategy_.run([&] {
    backward();
    net_.no_sync([&] { backward(); });
    net_->zero_grad();
    net_->first(torch::ones({2, 8})).sum().backward();
  });
  EXPECT_FALSE(net_.first()->last->bias.grad().defined());
}

/// Returns `x`; its backward has no gradient for `ignored`.
struct Ignoring : torch::autograd::Function<Ignoring> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x,
                               const torch::Tensor& /*ignored*/) {
    return x.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               const torch::autograd::tensor_list& gradients) {
    return {gradients[0], torch::Tensor()};
  }
};

TEST_F(GradientSums, MayBeUndefined) {
  torch::manual_seed(7);
  SmallNet alone;
  const auto loss = [](SmallNetImpl& own, bool all) {
    const torch::Tensor x = torch::ones({2, 8});
    return (all ? own.forward(x) : Ignoring::apply(own.first(x), own.last->bias)).sum();
  };
  for (const bool all : {false, true, false}) {
    strategy_.run([&] { loss(*net_, all).backward(); });
    (3 * loss(*alone, all)).backward();
    for (const auto& module : net_.replicas())
      for (const auto& item : module->named_parameters()) {
        const torch::Tensor expected = alone->named_parameters()[item.key()].grad();
        ASSERT_EQ(item.value().grad().defined(), expected.defined()) << item.key();
        EXPECT_TRUE(!expected.defined() || torch::allclose(item.value().grad(), expected, 1e-4, 1e-5)) << item.key();
      }
  }
  EXPECT_THAT(net_.unused_parameters(), testing::ElementsAre("last.weight", "last.bias"));
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

/// A layer of which backward repeats the forward pass.
struct Repeated : torch::autograd::Function<Repeated> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::nn::Linear& layer) {
    context->save_for_backward({x});
    context->saved_data["layer"] = reinterpret_cast<std::int64_t>(layer.get());
    return torch::linear(x, layer->weight, layer->bias);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& gradients) {
    const torch::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    auto& layer = *reinterpret_cast<torch::nn::LinearImpl*>(context->saved_data["layer"].toInt());
    const torch::AutoGradMode on(true);
    torch::autograd::backward({layer.forward(x)}, {gradients[0]});
    return {x.grad(), torch::Tensor()};
  }
};

TEST_F(GradientSums, OfABackwardInsideAnotherAreIncluded) {
  const torch::Tensor x = torch::ones({2, 8}).requires_grad_();
  strategy_.run([&] { net_->last(torch::tanh(net_->first(x))).sum().backward(); });
  std::vector<torch::Tensor> expected;
  for (const torch::Tensor& parameter : net_.first()->parameters()) expected.push_back(parameter.grad().clone());
  const auto check = [&](const auto& forward) {
    net_.for_each([](SmallNetImpl& own) { own.zero_grad(); });
    strategy_.run([&] { forward(*net_).sum().backward(); });
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(torch::allclose(net_.replicas()[1]->parameters()[i].grad(), expected[i], 1e-4, 1e-5)) << i;
  };
  check([&](SmallNetImpl& own) { return own.last(torch::tanh(Repeated::apply(x, own.first))); });
  check([&](SmallNetImpl& own) { return Repeated::apply(torch::tanh(own.first(x)), own.last); });
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          const torch::Tensor y = Repeated::apply(x, net_->first);
          net_->first(torch::tanh(y.slice(1, 0, 8))).sum().backward();
        });
      },
      ThrowsMessage<LogicError>(
          testing::ContainsRegex("a backward inside another backward adds to the gradient of 'first[.].*', "
                                 "which the outer one has already finished")));
}

TEST_F(GradientSums, OfTwoModulesInOneBackward) {
  const auto judge = libtorch::mirror(strategy_, [] { return torch::nn::Linear(3, 2); });
  strategy_.run([&] {  // as in a generative adversarial network
    const torch::Tensor fake = net_->forward(torch::ones({2, 8}));
    judge->forward(fake.detach()).sum().backward();
    judge->forward(fake).sum().backward();
  });
  for (const auto& module : judge.replicas()) EXPECT_EQ(module->bias.grad()[0].item<float>(), 12);
  EXPECT_TRUE(torch::allclose(net_.first()->last->bias.grad(), 6 * judge.first()->weight.sum(0)));
}

TEST_F(GradientSums, AreNotSummedInsideTheBackwardOfAnotherModule) {
  const auto judge = libtorch::mirror(strategy_, [] { return torch::nn::Linear(3, 2); });
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          const torch::Tensor y = torch::tanh(net_->first(torch::ones({2, 8})));
          y.register_hook([&](const torch::Tensor& /*gradient*/) {
            const torch::AutoGradMode on(true);
            judge->forward(torch::ones({1, 3})).sum().backward();
          });
          net_->last(y).sum().backward();
        });
      },
      ThrowsMessage<LogicError>(HasSubstr("a backward inside the backward of another mirrored module")));
  expect_next_step_works();
}

TEST_F(GradientSums, AreOfOneModuleOnAllReplicas) {
  const auto other = mirrored_net(strategy_);
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          const bool last = get_replica_context().local_replica() == 2;
          (last ? other : net_)->forward(torch::ones({2, 8})).sum().backward();
        });
      },
      ThrowsMessage<LogicError>(testing::ContainsRegex(
          "is at the gradients of mirrored module .*'first.weight', .* while others wait at the gradients of")));
  expect_next_step_works();
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
