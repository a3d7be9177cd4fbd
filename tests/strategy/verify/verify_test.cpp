#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/strategy/verify/verify.h>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class VerifyMirrored : public testing::TestWithParam<int> {
 protected:
  const int replicas_ = GetParam();
  const MirroredStrategy strategy_ = test::mirrored(replicas_);
  const std::vector<Variable> variables_ = strategy_.scope([] {
    return std::vector{test::variable_of("first", test::random_tensor({5}, 1)),
                       test::variable_of("second", test::random_tensor({3, 4}, 2))};
  });
};

TEST_P(VerifyMirrored, PassesEqualCopies) { EXPECT_NO_THROW(verify_mirrored(variables_)); }

TEST_P(VerifyMirrored, NamesAFlippedBit) {
  for (int replica = 1; replica < replicas_; ++replica) {
    float& value = variables_[1].state().copies()[replica].data<float>()[7];
    std::uint32_t bits;
    const auto flip_lowest = [&] {
      std::memcpy(&bits, &value, sizeof bits);
      bits ^= 1U;
      std::memcpy(&value, &bits, sizeof bits);
    };
    flip_lowest();
    EXPECT_THAT([&] { verify_mirrored(variables_); },
                ThrowsMessage<BrokenInvariant>(AllOf(HasSubstr("'second'"), HasSubstr("element 7"),
                                                     HasSubstr(fmt::format("on replica {}", replica)))));
    flip_lowest();
    EXPECT_NO_THROW(verify_mirrored(variables_));
  }
}

TEST_P(VerifyMirrored, ComparesBitsNotValues) {
  const Variable nan = strategy_.scope([] { return test::variable_of("nan", Tensor::full({1}, std::nan(""))); });
  EXPECT_NO_THROW(verify_mirrored(std::vector{nan}));
  if (replicas_ == 1) return;
  const Variable zero = strategy_.scope([] { return test::variable_of("zero", Tensor::zeros({1})); });
  zero.state().copies().back().data<float>()[0] = -0.0F;
  EXPECT_THROW(verify_mirrored(std::vector{zero}), BrokenInvariant);
}

TEST_P(VerifyMirrored, PassesOverVariablesCombinedOnReading) {
  const Variable apart = strategy_.scope([] {
    return Variable({.name = "apart",
                     .shape = {2},
                     .initializer = [](const Tensor& out) { copy(Tensor::zeros({2}), out); },
                     .trainable = false,
                     .synchronization = Synchronization::on_read,
                     .aggregation = Aggregation::mean});
  });
  strategy_.run([&] { current_backend().fill(apart.value(), static_cast<float>(test::this_replica())); });
  EXPECT_NO_THROW(verify_mirrored(std::vector{apart}));
}

INSTANTIATE_TEST_SUITE_P(Replicas, VerifyMirrored, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
