#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

struct Statistics {
  std::vector<double> mean, variance;
};

Statistics plain_statistics(const std::vector<double>& x, std::size_t channels) {
  const double rows = static_cast<double>(x.size() / channels);
  Statistics result{std::vector<double>(channels), std::vector<double>(channels)};
  for (std::size_t i = 0; i < x.size(); ++i) result.mean[i % channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    result.variance[i % channels] += std::pow(x[i] - result.mean[i % channels], 2) / rows;
  return result;
}

const std::vector<Shape> shapes{{2, 3, 3, 1}, {2, 3, 4, 3},  {5, 5},        {3, 2, 2, 17},
                                {6, 1, 1, 8}, {4, 2, 2, 16}, {2, 5, 5, 40}, {40, 20, 20, 2}};

std::vector<Tensor> operands(const Shape& shape) {
  const std::int64_t channels = shape.dim(-1);
  return {random_tensor(shape, 1, -1, 3), random_tensor({channels}, 2, 0.5, 1.5), random_tensor({channels}, 3)};
}

// With a mean of a thousand deviations, f32 would lose the whole variance in E[x^2] - E[x]^2.
TEST(BatchNorm, StatisticsSurviveALargeMean) {
  const std::int64_t rows = 50000;
  const Tensor x = random_tensor({rows, 3}, 1, 999, 1001);
  const Statistics expected = plain_statistics(x.to_vector<double>(), 3);
  for (const int threads : {1, 3}) {
    const ComputeThreadsScope scope(threads);
    const BatchNormResult result = batch_norm(x, Tensor::full({3}, 1), Tensor::zeros({3}));
    expect_close(result.mean, expected.mean, 1, 1000);
    expect_close(result.variance, expected.variance, rows, 1);
  }
}

TEST(BatchNorm, ATensorThatIsSeveralInputsHasTheSumOfTheirGradients) {
  const Tensor both = random_tensor({4}, 1, 0.5, 1.5);
  const Tensor x = random_tensor({6, 4}, 2);
  const auto gradients = [&](const Tensor& gamma, const Tensor& beta, std::vector<GradientTape::Slot> slots) {
    GradientTape tape;
    for (const GradientTape::Slot& slot : slots) tape.watch(slot.source);
    const Tensor y = sum(square(batch_norm(x, gamma, beta).y));
    std::vector<Tensor> result(slots.size());
    tape.backward(y, slots, [&](int slot, const DenseOrSparse& gradient) {
      result[static_cast<std::size_t>(slot)] = std::get<Tensor>(gradient);
    });
    return result;
  };
  const Tensor gamma = dense_copy(both) + 0.0;
  const Tensor beta = dense_copy(both) + 0.0;
  const std::vector<Tensor> apart = gradients(gamma, beta, {{.source = gamma}, {.source = beta}, {.source = x}});
  const std::vector<Tensor> joint =
      gradients(both, both, {{.source = both, .destination = Tensor::empty({4})}, {.source = x}});
  expect_close(joint[0], (apart[0] + apart[1]).to_vector<double>(), 6);
  expect_close(joint[1], apart[2].to_vector<double>(), 6);
}

struct Results {
  Tensor y, mean, variance, dx, dgamma, dbeta;
};

void expect_same(const Results& a, const Results& b) {
  expect_same_bits(a.y, b.y);
  expect_same_bits(a.mean, b.mean);
  expect_same_bits(a.variance, b.variance);
  expect_same_bits(a.dx, b.dx);
  expect_same_bits(a.dgamma, b.dgamma);
  expect_same_bits(a.dbeta, b.dbeta);
}

/// `hold`: x is also held elsewhere, so that its gradient must not overwrite it.
Results run(const Shape& shape, bool hold, const Tensor& out) {
  const std::vector<Tensor> sources = operands(shape);
  GradientTape tape;
  for (const Tensor& source : sources) tape.watch(source);
  Tensor x = multiply(sources[0], 1.0);
  const BatchNormResult result = batch_norm(x, sources[1], sources[2], {.relu = true, .out = out});
  if (!hold) x = Tensor();
  const Tensor weights = random_tensor(shape, 9);
  const Tensor y = multiply(result.y, weights);
  const auto gradients = tape.gradient(sum(y), sources);
  if (hold) expect_same_bits(x, sources[0]);
  return {result.y, result.mean, result.variance, gradients[0], gradients[1], gradients[2]};
}

TEST(BatchNorm, AnyNumberOfThreadsGivesTheSameBits) {
  for (const Shape& shape : {Shape{2, 32, 32, 96}, Shape{5, 31, 33, 7}, Shape{1003, 1500}}) {
    SCOPED_TRACE(shape.text());
    const auto on_threads = [&](int threads) {
      const ComputeThreadsScope scope(threads);
      return run(shape, true, {});
    };
    const Results alone = on_threads(1);
    for (const int threads : {2, 3, 5}) expect_same(on_threads(threads), alone);
  }
}

TEST(BatchNorm, InPlaceAndSliceGiveTheSameBits) {
  for (const Shape& shape : shapes)
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(shape.text());
      const ComputeThreadsScope scope(threads);
      const Results dense = run(shape, true, {});
      expect_same(dense, run(shape, true, {}));
      expect_same(dense, run(shape, false, {}));
      expect_same(dense, run(shape, true, strided_copy(Tensor::zeros(shape))));
    }
}

/// Whether batch_norm overwrites x with the gradient of x, when `read` consumes the result; `hold`: x is also held
/// elsewhere.
template <class Read>
bool overwrites_x(bool hold, Read&& read) {
  const std::vector<Tensor> in = operands({4, 3, 3, 5});
  GradientTape tape;
  tape.watch(in[0]);
  Tensor x = Tensor::from(in[0].to_vector<float>(), in[0].shape());
  const void* const memory = x.raw_data();
  const void* gradient = nullptr;
  record("spy", {in[0]}, x, [&gradient](BackwardContext& c) { gradient = c.gradient(0).raw_data(); });
  const Tensor y = batch_norm(x, in[1], in[2]).y;
  if (!hold) x = Tensor();
  tape.gradient(sum(read(y)), std::array{in[0]});
  return gradient == memory;
}

TEST(BatchNorm, WritesTheGradientOverAnInputThatNobodyElseReads) {
  const auto as_it_is = [](const Tensor& y) { return y; };
  EXPECT_TRUE(overwrites_x(false, as_it_is));
  EXPECT_FALSE(overwrites_x(true, as_it_is));
}

TEST(BatchNorm, WritesItOverWhatAConvolutionMadeItsInputOfAgain) {
  const Tensor kernel = random_tensor({3, 3, 5, 2}, 4).as_parameter();
  EXPECT_TRUE(overwrites_x(false, [&](const Tensor& y) { return conv2d(y, kernel, {}); }));
}

/// The gradients of a convolution's bias and of its result, which `read` consumes.
template <class Read>
std::vector<Tensor> gradients_of_bias_and_result(const Read& read) {
  const Tensor bias = random_tensor({5}, 6);
  GradientTape tape;
  tape.watch(bias);
  const Tensor y = conv2d(random_tensor({3, 4, 4, 2}, 1), random_tensor({3, 3, 2, 5}, 2), bias);
  const Tensor weights = random_tensor(y.shape(), 9);
  return tape.gradient(sum(multiply(read(y), weights)), std::array{bias, y});
}

// The mean cancels whatever is added to a channel.
TEST(BatchNorm, TheBiasOfAConvolutionBeforeItHasNoGradient) {
  const std::vector<Tensor> in = operands({1, 5});
  const auto normalized = [&](const Tensor& y) { return batch_norm(y, in[1], in[2], {.relu = true}).y; };
  expect_same_bits(gradients_of_bias_and_result(normalized)[0], Tensor::zeros({5}));
}

TEST(BatchNorm, MemoryGivenForThatGradientIsLeftAsItIs) {
  const std::vector<Tensor> in = operands({1, 5});
  const Tensor bias = random_tensor({5}, 6);
  const Tensor memory = Tensor::full({5}, 7);
  GradientTape tape;
  tape.watch(bias);
  const Tensor y = conv2d(random_tensor({3, 4, 4, 2}, 1), random_tensor({3, 3, 2, 5}, 2), bias);
  const GradientTape::Slot slot{.source = bias, .destination = memory};
  int calls = 0;
  tape.backward(sum(batch_norm(y, in[1], in[2]).y), std::span(&slot, 1), [&](int, const DenseOrSparse& gradient) {
    ++calls;
    EXPECT_FALSE(is_defined(gradient));
  });
  EXPECT_EQ(calls, 1);
  expect_same_bits(memory, Tensor::full({5}, 7));
}

TEST(BatchNorm, ItHasOneWhereAnotherOpReadsTheResultOrStatisticsAreNotItsOwn) {
  const std::vector<Tensor> in = operands({1, 5});
  const auto also_itself = [&](const Tensor& y) { return add(batch_norm(y, in[1], in[2]).y, y); };
  const auto by_given = [&](const Tensor& y) {
    return batch_norm_inference(y, in[1], in[2], Tensor::zeros({5}), Tensor::full({5}, 2));
  };
  const auto by_those_of_all = [&](const Tensor& y) {
    const GatherRows gather = [](const Tensor& own) { return concatenate(std::array{own, own * 2.0 + 1.0}, 0); };
    return batch_norm(y, in[1], in[2], {.gather = gather}).y;
  };
  const auto check = [&](const auto& read) {
    const std::vector<Tensor> gradients = gradients_of_bias_and_result(read);
    const std::vector<double> dy = gradients[1].to_vector<double>();
    std::vector<double> sums(5);
    for (std::size_t i = 0; i < dy.size(); ++i) sums[i % 5] += dy[i];
    EXPECT_GT(std::abs(sums[0]), 0.1);
    expect_close(gradients[0], sums, 48);
  };
  check(also_itself);
  check(by_given);
  check(by_those_of_all);
}

TEST(BatchNorm, WritesNothingBesideItsSlice) {
  const Tensor whole = Tensor::full({2, 3, 3, 9}, 7);
  const std::vector<Tensor> in = operands({2, 3, 3, 4});
  batch_norm(in[0], in[1], in[2], {.out = whole.slice_view(3, 2, 6)});
  for (const auto& [begin, end] : {std::pair{0, 2}, std::pair{6, 9}})
    for (const float value : whole.slice_view(3, begin, end).to_vector<float>()) ASSERT_EQ(value, 7);
}

TEST(BatchNorm, OfBfloat16WritesIntoASliceOfBfloat16) {
  const Tensor x = cast(random_tensor({6, 8}, 1), DType::bf16);
  const Tensor gamma = Tensor::full({8}, 1);
  const Tensor beta = Tensor::zeros({8});
  const Tensor whole = Tensor::zeros({6, 20}, DType::bf16);
  batch_norm(x, gamma, beta, {.out = whole.slice_view(1, 3, 11)});
  expect_same_bits(dense_copy(whole.slice_view(1, 3, 11)), batch_norm(x, gamma, beta).y);
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                batch_norm(x, gamma, beta, {.out = Tensor::empty({6, 8})});
              }),
              HasSubstr("the output must be bf16 (6, 8)"));
}

TEST(BatchNorm, ReadsAndPassesOnStridedGradients) {
  const Shape shape{2, 3, 3, 4};
  const std::vector<Tensor> sources = operands(shape);
  const Results direct = run(shape, true, {});
  const Tensor whole = Tensor::empty({2, 3, 3, 8});
  GradientTape tape;
  for (const Tensor& source : sources) tape.watch(source);
  const auto normalized = [&](int begin) {
    const Tensor x = multiply(sources[0], 1.0);
    return batch_norm(x, sources[1], sources[2], {.relu = true, .out = whole.slice_view(3, begin, begin + 4)}).y;
  };
  const std::array parts{normalized(0), normalized(4)};
  const Tensor joined = concatenate(parts, 3);
  const Tensor zeros = Tensor::zeros(shape);
  const std::array weights{zeros, random_tensor(shape, 9)};
  const auto gradients = tape.gradient(sum(multiply(joined, concatenate(weights, 3))), sources);
  EXPECT_EQ(joined.raw_data(), whole.raw_data());
  expect_same(direct, {parts[1], direct.mean, direct.variance, gradients[0], gradients[1], gradients[2]});
}

TEST(BatchNorm, NoRowsGiveZeros) {
  const std::vector<Tensor> in = operands({0, 4, 4, 3});
  GradientTape tape;
  for (const Tensor& input : in) tape.watch(input);
  const BatchNormResult result = batch_norm(in[0], in[1], in[2], {.relu = true});
  EXPECT_EQ(result.y.shape(), in[0].shape());
  const Tensor zeros = Tensor::zeros({3});
  expect_same_bits(result.mean, zeros);
  expect_same_bits(result.variance, zeros);
  const auto gradients = tape.gradient(sum(result.y), in);
  EXPECT_EQ(gradients[0].shape(), in[0].shape());
  expect_same_bits(gradients[1], zeros);
  expect_same_bits(gradients[2], zeros);
}

// A part of a batch receives from the other part: mean, variance and number of rows, then dgamma and dbeta.
TEST(BatchNorm, APartIsNormalizedAsInTheWholeBatch) {
  constexpr std::int64_t rows = 11, own_rows = 4, channels = 3;
  const Tensor whole = random_tensor({rows, channels}, 1, 99, 103);
  const std::vector<Tensor> in = operands({rows, channels});
  const Tensor weights = random_tensor({rows, channels}, 9);
  const Tensor other = make_dense(whole.slice_view(0, own_rows, rows));
  const Tensor other_weights = make_dense(weights.slice_view(0, own_rows, rows));

  const auto gradients = [&](const Tensor& x, const Tensor& of_y, const BatchNormOptions& options, Tensor& y) {
    const std::array sources{x, in[1], in[2]};
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    const BatchNormResult result = batch_norm(x, in[1], in[2], options);
    EXPECT_EQ(result.rows, rows);
    y = result.y;
    return tape.gradient(sum(multiply(y, of_y)), sources);
  };
  Tensor y_of_whole;
  const auto of_whole = gradients(whole, weights, {.relu = true}, y_of_whole);

  // The other part's sums, from its rows of the results for the whole batch.
  const BatchNormResult moments = batch_norm(other, in[1], in[2]);
  const BatchNormResult both = batch_norm(whole, in[1], in[2]);
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor y_of_other = batch_norm_inference(other, in[1], in[2], both.mean, both.variance, {.relu = true});
  const auto sums = tape.gradient(sum(multiply(y_of_other, other_weights)), std::array{in[1], in[2]});
  const Tensor count = Tensor::full({1}, static_cast<double>(rows - own_rows));
  const GatherRows gather = [&](const Tensor& own) {
    const bool forward = own.dim(1) == 2 * channels + 1;
    const std::array theirs{forward ? moments.mean : sums[0], forward ? moments.variance : sums[1]};
    const Tensor joined = concatenate(theirs, 0);
    const Tensor row = forward ? concatenate(std::array{joined, count}, 0) : joined;
    return concatenate(std::array{own, row.view({1, row.elements()})}, 0);
  };
  Tensor y;
  const auto of_part = gradients(make_dense(whole.slice_view(0, 0, own_rows)),
                                 make_dense(weights.slice_view(0, 0, own_rows)), {.relu = true, .gather = gather}, y);
  const auto first = [&](const Tensor& x) { return x.slice_view(0, 0, own_rows).to_vector<double>(); };
  expect_close(y, first(y_of_whole), rows, 103);
  expect_close(of_part[0], first(of_whole[0]), rows, 103);
  expect_close(add(of_part[1], sums[0]), of_whole[1].to_vector<double>(), rows, 103);
  expect_close(add(of_part[2], sums[1]), of_whole[2].to_vector<double>(), rows);
}

TEST(BatchNorm, MovingAverages) {
  const Tensor average = Tensor::from<float>({1, 2, 3}, {3});
  const Tensor value = Tensor::from<float>({5, 6, 7}, {3});
  update_moving_averages({{average, value, 0.75F}});
  EXPECT_EQ(average.to_vector<float>(), (std::vector<float>{2, 3, 4}));
  EXPECT_THAT(error_of<InvalidArgument>([&] {
                update_moving_averages({{average, value, 0}, {average, Tensor::zeros({4}), 0.5F}});
              }),
              HasSubstr("average and value must be dense f32 of one shape"));
  EXPECT_EQ(average.to_vector<float>(), (std::vector<float>{2, 3, 4}));
}

// More than one launch updates, and one average several times, in order.
TEST(BatchNorm, ManyMovingAverages) {
  const Tensor twice = Tensor::from<float>({0}, {1});
  std::vector<MovingAverage> averages{{twice, Tensor::from<float>({8}, {1}), 0.5F}};
  for (int i = 0; i < 2 * static_cast<int>(kernels::MovingAverages::most); ++i)
    averages.push_back({Tensor::full({2}, i), Tensor::full({2}, 1), 0.5F});
  averages.push_back({twice, Tensor::from<float>({2}, {1}), 0.5F});
  averages.push_back({twice, Tensor::from<float>({7}, {1}), 0.5F});
  update_moving_averages(averages);
  EXPECT_EQ(twice.item<float>(), 5);
  for (std::size_t i = 1; i + 2 < averages.size(); ++i)
    EXPECT_EQ(averages[i].average.to_vector<float>(), std::vector<float>(2, 0.5F * static_cast<float>(i)));
}

TEST(BatchNorm, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in = operands({4, 5});
  const Tensor wrong = Tensor::zeros({4});
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch_norm(in[0], wrong, in[2]); }),
              HasSubstr("batch_norm: gamma for x (4, 5) must be dense f32 (5), got f32 (4)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch_norm(in[0], in[1], {}); }),
              HasSubstr("batch_norm: beta for x (4, 5)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch_norm_inference(in[0], in[1], in[2], in[1], wrong); }),
              HasSubstr("batch_norm_inference: the variance for x (4, 5)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch_norm(in[0], in[1], in[2], {.out = wrong}); }),
              HasSubstr("the output must be f32 (4, 5), dense or a channel slice, got f32 (4)"));
  EXPECT_THAT(error_of<InvalidArgument>([&] { batch_norm(Tensor(), in[1], in[2]); }),
              HasSubstr("x must be f32 or bf16 (..., channels)"));
}

}  // namespace
}  // namespace lockstep::test
