#include <set>

#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/zoo/gpt.h>

namespace lockstep::test {
namespace {

constexpr zoo::GptOptions small_gpt{.vocabulary = 11, .context = 8, .layers = 2, .width = 12, .heads = 3, .dropout = 0};

/// (rows, time) i64 ids from 0 to 10.
Tensor token_rows(std::int64_t rows, std::int64_t time) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < rows * time; ++i) ids.push_back((7 * i + i * i / 3) % 11);
  return Tensor::from(ids, {rows, time});
}

TEST(Gpt, HasTheShapesAndParameters) {
  const Model model = zoo::gpt({.vocabulary = 65});
  EXPECT_EQ(model.network().input_shape(), Shape{-1});
  EXPECT_EQ(model.network().output_shape(), (Shape{-1, 65}));
  // Two tables of 65 tokens, one of 256 positions; in each of six blocks, 4 square matrices and two of four times the
  // width, their biases and two normalizations; a normalization.
  constexpr std::int64_t width = 384;
  constexpr std::int64_t block = 12 * width * width + (4 + 4 + 1) * width + 2 * 2 * width;
  EXPECT_EQ(model.count_params(), 2 * 65 * width + 256 * width + 6 * block + 2 * width);
  EXPECT_EQ(zoo::gpt(small_gpt).count_params(), 2 * 11 * 12 + 8 * 12 + 2 * (12 * 144 + 13 * 12) + 24);
}

TEST(Gpt, PredictsFromEarlierTokensAndTheirOrder) {
  const Model model = zoo::gpt(small_gpt);
  const Tensor ids = token_rows(2, 8);
  const Tensor logits = model(ids);
  ASSERT_EQ(logits.shape(), (Shape{2, 8, 11}));
  const Tensor prefix = slice(ids, 1, 0, 5);
  expect_close(model(prefix), slice(logits, 1, 0, 5).to_vector<double>(), 12);

  const Tensor one = Tensor::from(std::vector<std::int64_t>{1, 2, 3}, {1, 3});
  const Tensor other = Tensor::from(std::vector<std::int64_t>{2, 1, 3}, {1, 3});
  const std::vector<double> last = slice(model(one), 1, 2, 3).to_vector<double>();
  const std::vector<double> last_of_other = slice(model(other), 1, 2, 3).to_vector<double>();
  double difference = 0;
  for (std::size_t i = 0; i < last.size(); ++i) difference = std::max(difference, std::abs(last[i] - last_of_other[i]));
  EXPECT_GT(difference, 1e-4);
}

TEST(Gpt, TakesIdsAsNumbersOfF32) {
  const Model model = zoo::gpt(small_gpt);
  const Tensor ids = token_rows(2, 6);
  expect_same_bits(model(cast(ids, DType::f32)), model(ids));
}

TEST(Gpt, CountsPositionsExactlyInBfloat16) {
  const auto logits_of = [](DTypePolicy policy) {
    const DTypePolicyScope scope(policy);
    zoo::GptOptions options = small_gpt;
    options.context = 300;
    return zoo::gpt(options)(cast(token_rows(1, 300), DType::f32));
  };
  const Tensor mixed = logits_of(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(mixed.dtype(), DType::f32);
  const std::vector<double> expected = logits_of(DTypePolicy::float32).to_vector<double>();
  const std::vector<double> actual = mixed.to_vector<double>();
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 0.05) << "element " << i;
}

TEST(Gpt, TrainsOnTwoReplicasAsOnOne) {
  const Tensor rows = token_rows(8, 6);
  expect_same_step_on_two_replicas([] { return zoo::gpt(small_gpt); }, slice(rows, 0, 0, 4), slice(rows, 0, 4, 8));
}

TEST(Gpt, TrainsToTheSameBitsWithRecomputedBlocks) {
  const Tensor rows = token_rows(8, 6);
  const auto run = [&](bool remat) {
    zoo::GptOptions options = small_gpt;
    options.dropout = 0.2;
    options.remat = remat;
    const MirroredStrategy strategy = mirrored(2);
    Model model = strategy.scope([&] { return zoo::gpt(options); });
    std::set<std::uint64_t> blocks;
    for (const GraphCall& call : model.network().calls()) blocks.insert(call.remat);
    EXPECT_EQ(blocks.size(), remat ? 1 + 2 : 1);
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy{{.from_logits = true}});
    model.fit(slice(rows, 0, 0, 4), slice(rows, 0, 4, 8), {.batch_size = 4, .epochs = 2});
    return weights_of(model);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Gpt, RefusesSizesThatDoNotFit) {
  EXPECT_ERROR(InvalidArgument, "GPT takes a vocabulary and a context of at least one token, got 0 and 256",
               zoo::gpt({}));
  EXPECT_ERROR(InvalidArgument, "GPT takes a width that is a multiple of its 5 heads, got 384",
               zoo::gpt({.vocabulary = 9, .heads = 5}));
  EXPECT_ERROR(InvalidArgument, "GPT takes at least one layer and one head, got 6 and 0",
               zoo::gpt({.vocabulary = 9, .heads = 0}));
  EXPECT_ERROR(InvalidArgument, "layer 'position_embedding'", zoo::gpt(small_gpt)(token_rows(1, 9)));
}

}  // namespace
}  // namespace lockstep::test
