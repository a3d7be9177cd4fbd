#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {
namespace {

using test::mirrored;
using test::this_replica;

class VariableGradient : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = mirrored(replicas_);
  const Variable v_ = strategy_.scope([] { return test::variable_of("v", Tensor::full({2}, 3)); });

  /// d(sum(scale * v^2)) / dv
  Tensor gradient(double scale) const {
    GradientTape tape;
    const Tensor value = v_.value();
    return tape.gradient(sum(square(value)) * scale, std::vector{value}).front();
  }
};

// semantics 5.12: in a replica its own gradient, not aggregated
// TF case 96: a tape on a variable inside run gives R gradients, none missing
TEST_P(VariableGradient, InAReplicaIsTheReplicasOwn) {
  const auto gradients = strategy_.run([&] { return gradient(this_replica() + 1); });
  ASSERT_EQ(gradients.size(), replicas_);
  for (int replica = 0; replica < replicas_; ++replica)
    test::expect_same_bits(gradients[replica], Tensor::full({2}, 6 * (replica + 1)));
}

// semantics 5.12: cross-replica, of the primary component
TEST_P(VariableGradient, OutsideReplicasIsThatOfTheFirstCopy) {
  strategy_.update(
      v_, [](const Variable& own, double value) { own.assign(value); },
      test::per_replica(replicas_, [](int replica) { return 5.0 + replica; }));
  test::expect_same_bits(gradient(1), Tensor::full({2}, 10));
  const auto inside = strategy_.scope();
  test::expect_same_bits(gradient(2), Tensor::full({2}, 20));
}

INSTANTIATE_TEST_SUITE_P(Replicas, VariableGradient, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
