#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/kernels/attention/attention_math.h>
#include <lockstep/kernels/attention/mask_kernels.h>
#include <lockstep/kernels/random/philox.h>

#include "parity.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

const Runner run_shared(Source::shared);

TEST(MaskBias, HidesKeysAndFindsTheFirstThatIsSeen) {
  constexpr std::int64_t keys = 70;  // more than a team has threads
  const Tensor mask = Tensor::empty({2, 1, 3, keys}, DType::boolean);
  const auto seen = [](std::int64_t row, std::int64_t k) { return row == 4 ? k == keys - 1 : k >= 40 * row; };
  for (std::int64_t i = 0; i < mask.elements(); ++i) mask.data<bool>()[i] = seen(i / keys, i % keys);
  const Tensor bias = Tensor::full({2, 1, 3, 72}, 7, DType::bf16);
  const Tensor first = Tensor::empty({2, 1, 3}, DType::i64);
  run_shared(kernels::MaskBias{mask, bias.slice_view(3, 0, keys), first});
  EXPECT_THAT(first.to_vector<std::int64_t>(), ElementsAre(0, 40, keys, keys, keys - 1, keys));
  std::vector<float> expected;
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t k = 0; k < keys; ++k) expected.push_back(seen(row, k) ? 0 : -536870912.0F);
    expected.insert(expected.end(), 2, 7);  // behind the row
  }
  EXPECT_THAT(bias.to_vector<float>(), ElementsAreArray(expected));
}

/// Two examples with 3 queries of 2 heads, which share one head of 4 values; the first keys that are seen are broadcast
/// over the heads.
struct SharedValues {
  Tensor value = in_dtype(DType::bf16, whole_numbers({2, 4, 1, 2}, 1));
  Tensor first = Tensor::from(std::vector<std::int64_t>{0, 1, 4, 2, 3, 0}, {2, 1, 3}).broadcast_view({2, 2, 3});

  double mean(std::int64_t example, std::int64_t column) const {
    const std::vector<double> values = value.to_vector<double>();
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) sum += values[static_cast<std::size_t>((example * 4 + k) * 2 + column)];
    return sum / 4;
  }
};

TEST(EqualWeights, AreThoseOfQueriesThatSeeNoKey) {
  const SharedValues in;
  for (const bool is_causal : {false, true}) {
    const Tensor y = Tensor::full({2, 3, 2, 2}, 9, DType::bf16);
    const Tensor maximum = Tensor::full({2, 2, 3}, 5);
    const Tensor sum = Tensor::empty({2, 2, 3});
    run_shared(kernels::EqualWeights{in.value, in.first, is_causal, y, maximum, sum});
    std::vector<double> wanted_y(24);
    std::vector<float> wanted_maximum;
    std::vector<float> wanted_sum;
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t q = 0; q < 3; ++q) {
          const std::int64_t seen[2][3] = {{0, 1, 4}, {2, 3, 0}};
          const bool sees_none = is_causal ? seen[b][q] > q : seen[b][q] == 4;
          for (std::int64_t c = 0; c < 2; ++c)
            wanted_y[static_cast<std::size_t>(((b * 3 + q) * 2 + h) * 2 + c)] = sees_none ? in.mean(b, c) : 9;
          wanted_maximum.push_back(sees_none ? attention::hidden_score : 5);
          wanted_sum.push_back(sees_none ? 4 : 1);
        }
    EXPECT_THAT(y.to_vector<double>(), ElementsAreArray(wanted_y));
    EXPECT_THAT(maximum.to_vector<float>(), ElementsAreArray(wanted_maximum));
    EXPECT_THAT(sum.to_vector<float>(), ElementsAreArray(wanted_sum));
  }
}

TEST(EqualWeights, HaveGradientsOfTheValuesOnly) {
  const float none = attention::hidden_score;
  const Tensor maximum =
      Tensor::from(std::vector<float>{1, none, 2, none, none, 3, 1, 2, 3, 1, 2, std::nanf("")}, {2, 2, 3});
  const Tensor dy = strided_copy(in_dtype(DType::bf16, whole_numbers({2, 3, 2, 2}, 2)));
  const Tensor dvalue = in_dtype(DType::bf16, whole_numbers({2, 4, 1, 2}, 3));
  std::vector<double> wanted = dvalue.to_vector<double>();
  const std::vector<double> of = dy.to_vector<double>();
  for (std::int64_t c = 0; c < 2; ++c) {
    double sum = 0;
    for (const auto& [head, query] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)})
      sum += of[static_cast<std::size_t>((query * 2 + head) * 2 + c)];
    for (std::int64_t k = 0; k < 4; ++k) wanted[static_cast<std::size_t>(k * 2 + c)] += sum / 4;
  }
  run_shared(kernels::EqualWeightsGradient{dy, maximum, dvalue});
  EXPECT_THAT(dvalue.to_vector<double>(), ElementsAreArray(wanted));
}

TEST(LogSumExp, IsThatOfBothForms) {
  const float none = attention::hidden_score;
  const Tensor maximum = Tensor::from(std::vector<float>{2, -3, none}, {3});
  const Tensor sum = Tensor::from(std::vector<float>{1, 20, 4}, {3});
  const Tensor y = Tensor::empty({3});
  run_shared(kernels::LogSumExp{maximum, sum, y});
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, testing::FloatEq(-3 + std::log(20.0F)), testing::Gt(1e29F)));
}

TEST(DropoutSeeds, DifferByPartAndKey) {
  std::set<std::int64_t> all;
  for (const RandomKey& key :
       {RandomKey{.seed = 3}, RandomKey{.seed = 4}, RandomKey{.stream = 3}, RandomKey{.step = 3}}) {
    const Tensor seeds = Tensor::full({3, 2, 2}, 9, DType::i64);
    run_shared(kernels::DropoutSeeds{key, seeds});
    std::vector<std::int64_t> expected;
    for (std::uint64_t part = 0; part < 3; ++part) {
      const PhiloxBlock random = RandomSequence(key).block(part);
      const std::uint64_t bits = (std::uint64_t{random.word[1]} << 32) + random.word[0];
      expected.insert(expected.end(), {static_cast<std::int64_t>(bits), 0, 0, 0});
      all.insert(static_cast<std::int64_t>(bits));
    }
    EXPECT_THAT(seeds.to_vector<std::int64_t>(), ElementsAreArray(expected));
  }
  EXPECT_EQ(all.size(), 12U);
}

}  // namespace
}  // namespace lockstep::test
