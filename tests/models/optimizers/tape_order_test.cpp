#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/matmul/matmul.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/strategies/central_storage_strategy.h>

// Tapes that are open, or not used yet, while variables are updated.

namespace lockstep::test {
namespace {

constexpr const char* changed = "whose value has changed since then";

/// A generator g and a discriminator d of one weight each, 2 and 3, in two losses of one step: d^2 g^2 for g, and
/// -(d g)^2 + d for d. Each of n replicas has a loss of 1/n of that.
class TapeOrderOn : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
  const Variable g_ = strategy_.scope([] { return variable_of("g", Tensor::full({}, 2)); });
  const Variable d_ = strategy_.scope([] { return variable_of("d", Tensor::full({}, 3)); });
  const SGD generator_{{.learning_rate = 0.5}};
  const SGD discriminator_{{.learning_rate = 0.5}};

  /// Calls `step` with the two tapes and losses on each replica.
  void run(const std::function<void(GradientTape& g, const Tensor& g_loss, GradientTape& d, const Tensor& d_loss)>&
               step) const {
    strategy_.run([&] {
      GradientTape g_tape;
      GradientTape d_tape;
      const Tensor judged = d_.value() * g_.value();
      const double share = 1.0 / replicas_;
      const Tensor g_loss = square(judged) * share;
      const Tensor d_loss = (d_.value() - square(judged)) * share;
      step(g_tape, g_loss, d_tape, d_loss);
    });
  }
  double value(const Variable& variable) const { return variable.value().item<double>(); }
};

// As in TensorFlow's tutorial on DCGAN.
TEST_P(TapeOrderOn, GradientsOfAllTapesBeforeTheFirstUpdateAreThoseOfTheOldValues) {
  run([&](GradientTape& g, const Tensor& g_loss, GradientTape& d, const Tensor& d_loss) {
    const std::vector<Tensor> of_g = g.gradient(g_loss, std::vector{g_.value()});
    const std::vector<Tensor> of_d = d.gradient(d_loss, std::vector{d_.value()});
    generator_.apply_gradients(of_g, {g_});
    discriminator_.apply_gradients(of_d, {d_});
  });
  EXPECT_NEAR(value(g_), 2 - 0.5 * 2 * 9 * 2, 1e-4);        // d/dg d^2 g^2 = 2 d^2 g
  EXPECT_NEAR(value(d_), 3 - 0.5 * (1 - 2 * 3 * 4), 1e-4);  // 1 - 2 d g^2
}

TEST_P(TapeOrderOn, ASecondMinimizeOfOldValuesIsAnError) {
  EXPECT_ERROR(LogicError, changed,
               run([&](GradientTape& g, const Tensor& g_loss, GradientTape& d, const Tensor& d_loss) {
                 generator_.minimize(g, g_loss, {g_});
                 discriminator_.minimize(d, d_loss, {d_});
               }));
  EXPECT_EQ(value(d_), 3);
}

TEST_P(TapeOrderOn, AssignmentsInReplicasAreUpdates) {
  const auto assign_before = [&](const std::function<void()>& assign) {
    run([&](GradientTape&, const Tensor&, GradientTape& d, const Tensor& d_loss) {
      assign();
      (void)d.gradient(d_loss, std::vector{d_.value()});
    });
  };
  EXPECT_ERROR(LogicError, changed, assign_before([&] { g_.assign(5.0); }));
  EXPECT_ERROR(LogicError, changed, assign_before([&] { g_.assign(Tensor::full({}, 5)); }));
  const Variable unrelated = strategy_.scope([] { return variable_of("unrelated", Tensor::full({}, 2)); });
  assign_before([&] { unrelated.assign(5.0); });
}

TEST_P(TapeOrderOn, AStepThatOnlyAccumulatesChangesNothing) {
  const SGD accumulating({.learning_rate = 0.5}, {.gradient_accumulation_steps = 2});
  const auto twice = [&](GradientTape& g, const Tensor& g_loss, GradientTape& d, const Tensor& d_loss) {
    accumulating.minimize(g, g_loss, {g_});
    discriminator_.minimize(d, d_loss, {d_});
  };
  run(twice);
  EXPECT_EQ(value(g_), 2);
  EXPECT_NEAR(value(d_), 3 - 0.5 * (1 - 2 * 3 * 4), 1e-4);
  EXPECT_ERROR(LogicError, changed, run(twice));
}

INSTANTIATE_TEST_SUITE_P(Replicas, TapeOrderOn, testing::Values(1, 3));

TEST(TapeOrder, ATapeOutsideReplicasSeesTheirUpdates) {
  const MirroredStrategy strategy = mirrored(2);
  const Variable w = strategy.scope([] { return variable_of("w", Tensor::full({}, 2)); });
  const SGD optimizer({.learning_rate = 0.5});
  GradientTape outside;
  const Tensor y = square(w.value());
  strategy.run([&] {
    GradientTape tape;
    const Tensor loss = square(w.value());
    optimizer.minimize(tape, loss, {w});
  });
  EXPECT_ERROR(LogicError, "on variable 'w', whose value has changed since then",
               (void)outside.gradient(y, std::vector{w.value()}));
}

// Each replica leaves the update's last barrier at its own time, and its next step reads the copy that all share.
TEST(TapeOrder, ReplicasThatShareACopyDoNotDisturbEachOthersNextStep) {
  const CentralStorageStrategy strategy(devices(3));
  const Variable w = strategy.scope([] { return variable_of("w", Tensor::full({}, 1)); });
  const SGD optimizer({.learning_rate = 0.001});
  strategy.run([&] {
    for (int step = 0; step < 200; ++step) {
      GradientTape tape;
      const Tensor loss = square(w.value());
      optimizer.minimize(tape, loss, {w});
    }
  });
  EXPECT_GT(w.value().item<float>(), 0);
}

TEST(TapeOrder, RowsMayBeUpdatedWhileAnotherTapeHasLookedThemUp) {
  const Variable table = variable_of("table", Tensor::full({3, 2}, 1));
  const SGD optimizer({.learning_rate = 0.5});
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{2}, {1});
  GradientTape first;
  GradientTape second;
  const Tensor rows = embedding_lookup(table.value(), ids);
  const Tensor loss = sum(square(rows));
  optimizer.minimize(first, loss, {table});
  EXPECT_EQ(second.gradient(loss, std::vector{table.value()})[0].to_vector<float>(),
            (std::vector<float>{0, 0, 0, 0, 2, 2}));
}

TEST(TapeOrder, ReshapedFrozenAndStoppedValuesCountToo) {
  const Variable w = variable_of("w", Tensor::full({2, 2}, 1));
  const Tensor x = Tensor::full({1, 2}, 3);
  const auto gradient_after = [&](const std::function<Tensor()>& compute, const std::function<void()>& change) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = compute();
    change();
    return tape.gradient(y, std::vector{x})[0];
  };
  const auto assign = [&] { w.assign_add(Tensor::full({2, 2}, 1)); };
  EXPECT_ERROR(LogicError, changed, (void)gradient_after([&] { return matmul(x, transpose(w.value())); }, assign));
  EXPECT_ERROR(LogicError, changed,
               (void)gradient_after(
                   [&] {
                     return matmul(x, reshape(w.value(), {2, 2}));
                   },
                   assign));
  EXPECT_ERROR(LogicError, changed, (void)gradient_after([&] { return matmul(x, stop_gradient(w.value())); }, assign));
  w.state().set_trainable(false);
  EXPECT_ERROR(LogicError, changed, (void)gradient_after([&] { return matmul(x, w.value()); }, assign));
  w.state().set_trainable(true);
  EXPECT_EQ(gradient_after([&] { return matmul(x, w.value()); }, [] {}).to_vector<float>()[0], 2 * 5);
}

// On CPUs, the convolution computes its input again for its gradient.
TEST(TapeOrder, WhatARecomputedInputReadsCountsToo) {
  const Variable gamma = variable_of("gamma", Tensor::full({3}, 1));
  const Variable beta = variable_of("beta", Tensor::full({3}, 0));
  const Variable kernel = variable_of("kernel", Tensor::full({3, 3, 3, 2}, 1));
  const Tensor x = random_tensor({2, 5, 5, 3}, 1);
  GradientTape tape;
  const Tensor y = conv2d(batch_norm(x, gamma.value(), beta.value(), {.epsilon = 1e-3F}).y, kernel.value(), {});
  gamma.assign_add(Tensor::full({3}, 1));
  EXPECT_ERROR(LogicError, "the tape recorded batch_norm on variable 'gamma'",
               (void)tape.gradient(y, std::vector{kernel.value()}));
}

TEST(TapeOrder, SecondOrderGradientsNeedTheOldValues) {
  const Variable w = variable_of("w", Tensor::full({}, 2));
  const Tensor x = Tensor::full({}, 3);
  const auto penalty = [&](bool updates) {
    GradientTape outer;
    Tensor gradient;
    {
      GradientTape inner;
      inner.watch(x);
      gradient = inner.gradient(square(w.value() * x), std::vector{x})[0];  // 2 w^2 x
    }
    if (updates) w.assign_add(1.0);
    return outer.gradient(gradient, std::vector{w.value()})[0].item<float>();
  };
  EXPECT_EQ(penalty(false), 4 * 2 * 3);
  EXPECT_ERROR(LogicError, changed, (void)penalty(true));
}

}  // namespace
}  // namespace lockstep::test
