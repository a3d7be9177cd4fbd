#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/ops/gru.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::test {
namespace {

struct Case {
  std::int64_t rows, time, features, units;
  bool return_sequences = false;
};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// Keras' GRU with loops, on x, kernel, recurrent_kernel and bias.
class PlainGru {
 public:
  PlainGru(const Case& c, const std::vector<std::vector<double>>& in)
      : case_(c), x_(in[0]), kernel_(in[1]), recurrent_(in[2]), bias_(in[3]) {}

  std::vector<double> run() const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < case_.rows; ++row) run_row(row, y);
    return y;
  }

 private:
  void run_row(std::int64_t row, std::vector<double>& y) const {
    std::vector<double> h(static_cast<std::size_t>(case_.units), 0);
    for (std::int64_t s = 0; s < case_.time; ++s) {
      const std::vector<double> before = h;
      for (std::int64_t u = 0; u < case_.units; ++u) {
        const double update = sigmoid(of_input(row, s, 0, u) + of_state(before, 0, u));
        const double reset = sigmoid(of_input(row, s, 1, u) + of_state(before, 1, u));
        const double candidate = std::tanh(of_input(row, s, 2, u) + reset * of_state(before, 2, u));
        h[static_cast<std::size_t>(u)] = update * at(before, u) + (1 - update) * candidate;
      }
      if (case_.return_sequences || s == case_.time - 1) y.insert(y.end(), h.begin(), h.end());
    }
  }

  double of_input(std::int64_t row, std::int64_t s, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * case_.units + u;
    double result = at(bias_, column);
    for (std::int64_t k = 0; k < case_.features; ++k)
      result += at(x_, (row * case_.time + s) * case_.features + k) * at(kernel_, k * 3 * case_.units + column);
    return result;
  }
  double of_state(const std::vector<double>& h, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * case_.units + u;
    double result = at(bias_, 3 * case_.units + column);
    for (std::int64_t k = 0; k < case_.units; ++k) result += at(h, k) * at(recurrent_, k * 3 * case_.units + column);
    return result;
  }
  static double at(const std::vector<double>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

  Case case_;
  const std::vector<double>&x_, &kernel_, &recurrent_, &bias_;
};

std::vector<Tensor> inputs_of(const Case& c) {
  return {random_tensor({c.rows, c.time, c.features}, 1), random_tensor({c.features, 3 * c.units}, 2),
          random_tensor({c.units, 3 * c.units}, 3), random_tensor({2, 3 * c.units}, 4)};
}

Tensor run(const Case& c, std::span<const Tensor> in) { return gru(in[0], in[1], in[2], in[3], c.return_sequences); }

// The longest sum of a gradient is a kernel's, over all rows and steps, whose terms have each passed the sums of every
// step that follows them.
std::int64_t length_of(const Case& c) { return c.rows * c.time * (c.features + c.units); }

TEST(Gru, EqualsPlainLoops) {
  const std::vector<Case> cases{{1, 1, 1, 1},       {3, 1, 2, 4, true}, {4, 5, 3, 2},
                                {2, 7, 5, 3, true}, {9, 3, 4, 17},      {5, 12, 6, 8, true}};
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    for (const Case& c : cases) {
      SCOPED_TRACE(Shape({c.rows, c.time, c.features, c.units}).text());
      check_gradients([&](std::span<const Tensor> in) { return run(c, in); },
                      [&](const std::vector<std::vector<double>>& in) { return PlainGru(c, in).run(); }, inputs_of(c),
                      {.length = length_of(c)});
    }
  }
}

std::vector<Tensor> results_of(const Case& c, const std::vector<Tensor>& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = run(c, inputs);
  std::vector<Tensor> results = tape.gradient(sum(square(y)), inputs);
  results.push_back(y);
  return results;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same_bits(a[i], b[i]);
}

TEST(Gru, GivesTheSameBitsAgain) {
  const Case c{33, 6, 20, 40, true};
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same(results_of(c, inputs_of(c)), results_of(c, inputs_of(c)));
  }
}

TEST(Gru, TheLastStepIsTheLastOfTheSequence) {
  const Case c{3, 5, 4, 6, true};
  const std::vector<Tensor> in = inputs_of(c);
  const Tensor all = run(c, in);
  const Tensor last = gru(in[0], in[1], in[2], in[3]);
  expect_same_bits(last.view({3, 1, 6}), all.slice_view(1, 4, 5));
}

TEST(Gru, ReadsSlices) {
  const Case c{4, 5, 3, 2};
  std::vector<Tensor> in = inputs_of(c);
  const std::vector<Tensor> expected = results_of(c, in);
  in[0] = strided_copy(in[0], 1);
  expect_same(results_of(c, in), expected);
}

TEST(Gru, EachInputAloneMayBeTrained) {
  const Case c{4, 5, 3, 2};
  const std::vector<Tensor> in = inputs_of(c);
  const std::vector<Tensor> expected = results_of(c, in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    GradientTape tape;
    tape.watch(in[i]);
    const Tensor gradient = tape.gradient(sum(square(run(c, in))), std::array{in[i]})[0];
    expect_close(gradient, expected[i].to_vector<double>(), c.rows * c.time);
  }
}

TEST(Gru, NoRowsGiveZeroGradients) {
  const Case c{0, 5, 3, 2, true};
  const std::vector<Tensor> results = results_of(c, inputs_of(c));
  EXPECT_EQ(results[4].shape(), Shape({0, 5, 2}));
  expect_same_bits(results[1], Tensor::zeros({3, 6}));
  expect_same_bits(results[2], Tensor::zeros({2, 6}));
  expect_same_bits(results[3], Tensor::zeros({2, 6}));
  EXPECT_EQ(gru(inputs_of(c)[0], inputs_of(c)[1], inputs_of(c)[2], inputs_of(c)[3]).shape(), Shape({0, 2}));
}

TEST(Gru, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in = inputs_of({4, 5, 3, 2});
  EXPECT_ERROR(InvalidArgument, "x must be f32 (n, time, features), got f32 (4, 3)",
               gru(random_tensor({4, 3}, 1), in[1], in[2], in[3]));
  EXPECT_ERROR(InvalidArgument, "recurrent kernel must be f32 (units, 3 units), got f32 (2, 8)",
               gru(in[0], in[1], random_tensor({2, 8}, 1), in[3]));
  EXPECT_ERROR(InvalidArgument, "must be f32 (3, 6), got f32 (4, 6)",
               gru(in[0], random_tensor({4, 6}, 1), in[2], in[3]));
  EXPECT_ERROR(InvalidArgument, "must be f32 (2, 6), got f32 (6)", gru(in[0], in[1], in[2], random_tensor({6}, 1)));
}

}  // namespace
}  // namespace lockstep::test
