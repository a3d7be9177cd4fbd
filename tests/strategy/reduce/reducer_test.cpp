#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/reduce/reducer.h>

namespace lockstep {
namespace {

using test::this_replica;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr SgdStep plain_step{.learning_rate = 1};
void take_plain_step(const UpdateViews& views) { launch(kernels::Update{plain_step, views}); }

class GradientReducerOf : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
  const Variable used_ = strategy_.scope([] { return test::variable_of("used", Tensor::full({20}, 5)); });
  const Variable unused_ = strategy_.scope([] { return test::variable_of("unused", Tensor::full({3}, 6)); });
  GradientReducer reducer_{{used_, unused_}, strategy_.devices()};
  const float sum_of_ids_ = static_cast<float>(replicas_ * (replicas_ - 1) / 2);

  const Tensor& gradient(int replica, int variable) const {
    return reducer_.arena().slots(replica)[variable].destination;
  }
  void fill_gradients(float value) {
    for (int replica = 0; replica < replicas_; ++replica)
      for (int variable = 0; variable < 2; ++variable) {
        const Tensor& own = gradient(replica, variable);
        assign(Tensor::full(own.shape(), value), own);
      }
  }
};

TEST_P(GradientReducerOf, BackwardPutsGradientsInTheArenaAndZeroForUnusedVariables) {
  fill_gradients(99);
  strategy_.run([&] {
    GradientTape tape;
    const Tensor loss = sum(used_.value() * static_cast<double>(this_replica()));
    reducer_.backward(get_replica_context(), tape, loss);
  });
  for (int replica = 0; replica < replicas_; ++replica) {
    test::expect_same_bits(gradient(replica, 0), Tensor::full({20}, replica));
    test::expect_same_bits(gradient(replica, 1), Tensor::zeros({3}));
  }
}

TEST_P(GradientReducerOf, AddsUpAllUsesOfAVariable) {
  strategy_.run([&] {
    GradientTape tape;
    const Tensor w = used_.value();
    const Tensor loss = sum(w + w * 2.0) + sum(w);
    reducer_.backward(get_replica_context(), tape, loss);
  });
  for (int replica = 0; replica < replicas_; ++replica)
    test::expect_same_bits(gradient(replica, 0), Tensor::full({20}, 4));
}

TEST_P(GradientReducerOf, TakesVariablesThatHaveNoElements) {
  const Variable empty = strategy_.scope([] { return test::variable_of("empty", Tensor::zeros({0, 3})); });
  GradientReducer reducer({empty}, strategy_.devices());
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    reducer.load(context, std::vector<DenseOrSparse>{Tensor::zeros({0, 3})});
    reducer.apply(context, take_plain_step);
  });
  EXPECT_EQ(empty.value().shape(), (Shape{0, 3}));
}

// semantics 8.3: all None -> "no gradients provided".
TEST_P(GradientReducerOf, ALossOfOtherVariablesIsRefused) {
  const Variable other = strategy_.scope([] { return test::variable_of("other", Tensor::zeros({2})); });
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          const ReplicaContext context = get_replica_context();
          GradientTape tape;
          reducer_.backward(context, tape, sum(other.value()));
          reducer_.apply(context, take_plain_step);
        });
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("no gradients provided"), HasSubstr("any of the 2 variables"))));
  for (const Tensor& copy : used_.state().copies()) test::expect_same_bits(copy, Tensor::full({20}, 5));
}

// semantics 8.3: None on one replica only is an assertion in TensorFlow; better: treat as zero.
TEST_P(GradientReducerOf, WhatSomeReplicasDoNotUseCountsAsZeroThere) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    const int replica = context.replica_id_in_sync_group();
    std::vector<DenseOrSparse> gradients{Tensor(),
                                         Tensor()};  // the last replica has no gradients, unless it is the only one
    if (replica == 0) gradients[0] = Tensor::full({20}, 2);
    if (replica == 1 && replicas_ > 2) gradients[1] = Tensor::full({3}, 3);
    reducer_.load(context, gradients);
    reducer_.apply(context, take_plain_step);
  });
  for (int replica = 0; replica < replicas_; ++replica) {
    test::expect_same_bits(used_.state().copies()[replica], Tensor::full({20}, 3));
    test::expect_same_bits(unused_.state().copies()[replica], Tensor::full({3}, replicas_ > 2 ? 3 : 6));
  }
}

TEST_P(GradientReducerOf, LoadTakesGradientsAndCountsMissingOnesAsZero) {
  fill_gradients(99);
  strategy_.run([&] {
    reducer_.load(get_replica_context(), std::vector<DenseOrSparse>{Tensor::full({20}, this_replica() + 1), Tensor()});
  });
  for (int replica = 0; replica < replicas_; ++replica) {
    test::expect_same_bits(gradient(replica, 0), Tensor::full({20}, replica + 1));
    test::expect_same_bits(gradient(replica, 1), Tensor::zeros({3}));
  }
}

TEST_P(GradientReducerOf, LoadRefusesGradientsThatDoNotFit) {
  const auto loading = [&](std::vector<DenseOrSparse> gradients) {
    return [this, gradients] { strategy_.run([&] { reducer_.load(get_replica_context(), gradients); }); };
  };
  EXPECT_THAT(loading({Tensor::zeros({20})}),
              ThrowsMessage<InvalidArgument>(HasSubstr("1 gradients were given for 2")));
  EXPECT_THAT(loading({Tensor::zeros({21}), Tensor()}),
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("replica "), HasSubstr("gradient 0, of 'used',"),
                                                   HasSubstr("(20)"), HasSubstr("(21)"))));
  EXPECT_THROW(loading({Tensor::zeros({20}, DType::i32), Tensor()})(), InvalidArgument);
}

TEST_P(GradientReducerOf, NoGradientsAtAllAreRefusedAndNothingIsUpdated) {
  const auto step = [&](const Tensor& gradient) {
    strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      reducer_.load(context, std::vector<DenseOrSparse>{gradient, Tensor()});
      reducer_.apply(context, take_plain_step);
    });
  };
  step(Tensor::full({20}, 0));
  EXPECT_THAT([&] { step(Tensor()); }, ThrowsMessage<InvalidArgument>(HasSubstr("no gradients provided")));
  step(Tensor::full({20}, 0));
  for (const Tensor& copy : used_.state().copies()) test::expect_same_bits(copy, Tensor::full({20}, 5));
}

TEST_P(GradientReducerOf, ApplySumsOverReplicasAndUpdatesEveryCopy) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    reducer_.load(context, std::vector<DenseOrSparse>{Tensor::full({20}, this_replica()), Tensor::full({3}, 1)});
    reducer_.apply(context, take_plain_step);
  });
  for (int replica = 0; replica < replicas_; ++replica) {
    test::expect_same_bits(used_.state().copies()[replica], Tensor::full({20}, 5 - sum_of_ids_));
    test::expect_same_bits(unused_.state().copies()[replica], Tensor::full({3}, 6 - replicas_));
  }
}

TEST_P(GradientReducerOf, ForwardBeforeTheArenaWasMadeIsDifferentiatedToo) {
  const Variable v = strategy_.scope([] { return test::variable_of("v", Tensor::full({4}, 3)); });
  std::unique_ptr<GradientReducer> late;
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    GradientTape tape;
    const Tensor loss = sum(square(v.value()));
    context.barrier("before");
    if (this_replica() == 0) late = std::make_unique<GradientReducer>(std::vector{v}, strategy_.devices());
    context.barrier("after");
    late->backward(context, tape, loss);
    late->apply(context, take_plain_step);
  });
  for (const Tensor& copy : v.state().copies()) test::expect_same_bits(copy, Tensor::full({4}, 3 - 6 * replicas_));
}

TEST_P(GradientReducerOf, StateStartsAsAsked) {
  const Variable v = strategy_.scope([] { return test::variable_of("v", Tensor::zeros({2, 2})); });
  const Variable table = strategy_.scope([] { return test::variable_of("table", Tensor::zeros({3, 2})); });
  const GradientReducer with_state({v, table}, strategy_.devices(), {.slots = {0, 0.5}, .by_rows = {false, true}});
  test::expect_same_bits(with_state.state(0, 0), Tensor::zeros({2, 2}));
  test::expect_same_bits(with_state.state(0, 1), Tensor::full({2, 2}, 0.5));
  test::expect_same_bits(with_state.state(1, 1), Tensor::full({3, 2}, 0.5));
}

// Replica r has gradients r + 1, then 10: the sums over two steps and all replicas are applied at once.
TEST_P(GradientReducerOf, AccumulatesGradientsOverSteps) {
  const Variable table = strategy_.scope([] { return test::variable_of("table", Tensor::zeros({3, 1})); });
  GradientReducer reducer({used_, table}, strategy_.devices(), {.by_rows = {false, true}, .every_row = false});
  const auto gradients = [](float value, std::int64_t row) {
    const IndexedSlices rows{
        Tensor::full({1, 1}, value), Tensor::full({1}, static_cast<double>(row), DType::i64), {3, 1}};
    return std::vector<DenseOrSparse>{Tensor::full({20}, value), rows};
  };
  for (int update = 1; update <= 2; ++update) {
    strategy_.run([&] {
      const ReplicaContext context = get_replica_context();
      reducer.load(context, gradients(static_cast<float>(this_replica() + 1), 0));
      reducer.accumulate(context);
      reducer.load(context, gradients(10, 2));
      reducer.apply(context, take_plain_step);
    });
    const float first = sum_of_ids_ + static_cast<float>(replicas_);
    const float second = 10.0F * static_cast<float>(replicas_);
    const auto times = static_cast<float>(update);
    for (const Tensor& copy : used_.state().copies())
      test::expect_same_bits(copy, Tensor::full({20}, 5 - times * (first + second)));
    for (const Tensor& copy : table.state().copies())
      EXPECT_EQ(copy.to_vector<float>(), (std::vector<float>{-times * first, 0, -times * second}));
  }
}

TEST_P(GradientReducerOf, GivesTheNormsOfWholeVariablesAndUpdatesByVariable) {
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    reducer_.load(context, std::vector<DenseOrSparse>{Tensor::full({20}, this_replica() + 1), Tensor::full({3}, 1)});
    reducer_.sum_gradients(context);
    const double first = sum_of_ids_ + replicas_;
    EXPECT_EQ(reducer_.squared_norms(context, GradientReducer::ArenaBuffer::gradients),
              (std::vector<double>{20 * first * first, 3.0 * replicas_ * replicas_}));
    EXPECT_EQ(reducer_.squared_norms(context, GradientReducer::ArenaBuffer::parameters),
              (std::vector<double>{20 * 25, 3 * 36}));
    reducer_.update_by_variable(context, GradientReducer::ArenaBuffer::parameters,
                                [](std::size_t variable, const UpdateViews& views) {
                                  OptimizerStep step(plain_step);
                                  step.gradient_scale = variable == 0 ? 0.5F : 0;
                                  launch(kernels::Update{step, views});
                                });
  });
  for (const Tensor& copy : used_.state().copies())
    test::expect_same_bits(copy, Tensor::full({20}, 5 - 0.5 * (sum_of_ids_ + replicas_)));
  for (const Tensor& copy : unused_.state().copies()) test::expect_same_bits(copy, Tensor::full({3}, 6));
}

// Each replica has its own state, as if replicas could not access each other's memory.
TEST_P(GradientReducerOf, ReplicasUpdateTheirOwnCopiesToTheSameBits) {
  constexpr SgdStep with_momentum{.learning_rate = 1, .momentum = 0.5F};
  GradientReducer reducer({used_, unused_}, strategy_.devices(), {.slots = {0}, .own_copies = true});
  reducer.set_state(0, 0, Tensor::full({20}, 2));
  strategy_.run([&] {
    const ReplicaContext context = get_replica_context();
    reducer.load(context, std::vector<DenseOrSparse>{Tensor::full({20}, 1), Tensor()});
    reducer.sum_gradients(context);
    reducer.update_by_variable(context, GradientReducer::ArenaBuffer::parameters,
                               [&](std::size_t, const UpdateViews& views) {
                                 EXPECT_EQ(views.parameters.size(), 1U);
                                 launch(kernels::Update{with_momentum, views});
                               });
  });
  test::expect_same_bits(reducer.state(0, 0), Tensor::full({20}, 1 - replicas_));
  for (const Tensor& copy : used_.state().copies()) test::expect_same_bits(copy, Tensor::full({20}, 6 - replicas_));
  for (const Tensor& copy : unused_.state().copies()) test::expect_same_bits(copy, Tensor::full({3}, 6));
}

TEST_P(GradientReducerOf, VariablesTakenOverAreNoticed) {
  const GradientReducer other({used_}, strategy_.devices());
  EXPECT_THAT(
      [&] {
        strategy_.run([&] {
          reducer_.load(get_replica_context(), std::vector<DenseOrSparse>{Tensor::zeros({20}), Tensor()});
        });
      },
      ThrowsMessage<LogicError>(HasSubstr("taken over by another optimizer")));
}

INSTANTIATE_TEST_SUITE_P(Replicas, GradientReducerOf, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
