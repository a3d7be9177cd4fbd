#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/strategy/comm/pack_plan.h>

namespace lockstep {
namespace {

std::vector<Tensor> of_bytes(const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> values;
  for (const std::int64_t size : sizes) values.push_back(Tensor::zeros({size / 4}));
  return values;
}

TEST(PlanPacks, AreClosedOnceTheyHoldMoreThanTheirBytes) {
  // semantics 7.2: a pack is closed once it is over bytes_per_pack, so it may exceed it by one tensor
  EXPECT_EQ(plan_packs(of_bytes({40, 40, 40, 400, 4}), 80), (std::vector<Pack>{{0, 1, 2}, {3}, {4}}));
  EXPECT_EQ(plan_packs(of_bytes({4, 400, 4}), 80), (std::vector<Pack>{{0, 1}, {2}}));
  EXPECT_EQ(plan_packs(of_bytes({4, 4}), 1), (std::vector<Pack>{{0}, {1}}));
}

TEST(PlanPacks, ZeroIsOnePackForAll) {
  EXPECT_EQ(plan_packs(of_bytes({40, 1 << 20, 0, 4}), 0), (std::vector<Pack>{{0, 1, 2, 3}}));
  EXPECT_TRUE(plan_packs({}, 0).empty());
}

TEST(PlanPacks, HoldOneDtypeEach) {
  // semantics 7.2, better: TensorFlow needs all dtypes of a pack to agree
  const std::vector<Tensor> values{Tensor::zeros({4}), Tensor::zeros({4}, DType::i32), Tensor::zeros({4}),
                                   Tensor::zeros({4}, DType::bf16), Tensor::zeros({4}, DType::i32)};
  EXPECT_EQ(plan_packs(values, 0), (std::vector<Pack>{{0, 2}, {1, 4}, {3}}));
  EXPECT_EQ(plan_packs(values, 15), (std::vector<Pack>{{0}, {1}, {2}, {3}, {4}}));
}

TEST(PackUp, LaysTensorsOneAfterTheOtherAndUnpackGivesThemBack) {
  const std::vector<Tensor> values{test::random_tensor({2, 3}, 1), test::strided_copy(test::random_tensor({4, 2}, 2)),
                                   Tensor::zeros({0, 2}), test::random_tensor({}, 3)};
  const Pack pack{3, 1, 2, 0};
  const Tensor packed = pack_up(values, pack);
  EXPECT_EQ(packed.shape(), Shape({15}));
  std::vector<Tensor> results(values.size());
  unpack(packed, values, pack, results);
  for (std::size_t i = 0; i < values.size(); ++i) test::expect_same_bits(results[i], values[i]);
}

TEST(PackUp, CopiesNoTensorThatIsAloneAndDense) {
  const Tensor alone = test::random_tensor({2, 3}, 1);
  EXPECT_EQ(pack_up(std::span(&alone, 1), {0}).raw_data(), alone.raw_data());
}

}  // namespace
}  // namespace lockstep
