#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/strategy/strategies/verify.h>

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

// semantics 2.10, 5.14, 15.5: copies that have diverged
TEST_P(VerifyMirrored, NamesAFlippedBit) {
  for (int replica = 1; replica < replicas_; ++replica) {
    const Tensor own = variables_[1].state().copies()[replica].view({12}).slice_view(0, 7, 8);
    const auto flip_lowest = [&] {
      const auto bits = std::bit_cast<std::uint32_t>(own.item<float>());
      copy(Tensor::from(std::vector{std::bit_cast<float>(bits ^ 1U)}, {1}), own);
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
  copy(Tensor::full({1}, -0.0), zero.state().copies().back());
  EXPECT_THROW(verify_mirrored(std::vector{zero}), BrokenInvariant);
}

TEST_P(VerifyMirrored, ComparesVariablesOfEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    const Variable v = strategy_.scope([&] { return test::variable_of("v", Tensor::zeros({3}, dtype)); });
    EXPECT_NO_THROW(verify_mirrored(std::vector{v}));
    if (replicas_ == 1) continue;
    copy(Tensor::full({1}, 1, dtype), v.state().copies().back().slice_view(0, 2, 3));
    const bool is_bool = dtype == DType::boolean;
    EXPECT_THAT([&] { verify_mirrored(std::vector{v}); },
                ThrowsMessage<BrokenInvariant>(
                    HasSubstr(fmt::format("the copies of 'v' differ: element 2 is {} on replica 0 and {} on replica {}",
                                          is_bool ? "false" : "0", is_bool ? "true" : "1", replicas_ - 1))));
  }
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
  strategy_.run([&] { launch(kernels::Fill{apart.value(), static_cast<float>(test::this_replica())}); });
  EXPECT_NO_THROW(verify_mirrored(std::vector{apart}));
}

/// The error for lists of variables that differ between replicas; variables are given by number.
class VerifySameOrder : public testing::Test {
 protected:
  std::string difference(const std::vector<std::vector<int>>& numbers) const {
    std::vector<std::vector<Variable>> lists;
    std::vector<const std::vector<Variable>*> by_replica;
    for (const std::vector<int>& list : numbers) {
      lists.emplace_back();
      for (const int number : list) lists.back().push_back(all_[static_cast<std::size_t>(number)]);
    }
    for (const auto& list : lists) by_replica.push_back(&list);
    return test::error_of<InvalidArgument>([&] { verify_same_order(by_replica); });
  }

  const std::vector<Variable> all_{test::variable_of("w", Tensor::zeros({2, 3})),
                                   test::variable_of("b", Tensor::zeros({3})),
                                   test::variable_of("c", Tensor::zeros({3}))};
};

// Before the first reduction, a check of shapes and order names the first difference.
TEST_F(VerifySameOrder, NamesTheFirstDifference) {
  EXPECT_EQ(
      difference({{0, 1, 2}, {0, 1, 2}, {0, 2, 1}}),
      "the replicas' gradients are in different orders: at position 1 replica 0 has 'b' (3), replica 2 has 'c' (3)");
  EXPECT_THAT(difference({{0, 1}, {1, 0}, {1, 0}}),
              HasSubstr("at position 0 replica 0 has 'w' (2, 3), replica 1 has 'b' (3)"));
  EXPECT_THAT(difference({{0, 1}, {0}}),
              HasSubstr("at position 1 replica 0 has 'b' (3), replica 1 has nothing after 1 variable(s)"));
  EXPECT_THAT(difference({{0}, {0, 2}}), HasSubstr("replica 0 has nothing after 1 variable(s), replica 1 has 'c' (3)"));
}

TEST_F(VerifySameOrder, PassesEqualLists) {
  const std::vector<Variable> copy = all_;
  EXPECT_NO_THROW(verify_same_order(std::vector{&all_, &copy, &all_}));
}

INSTANTIATE_TEST_SUITE_P(Replicas, VerifyMirrored, testing::ValuesIn(test::replica_counts));

}  // namespace
}  // namespace lockstep
