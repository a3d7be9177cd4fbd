#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/runtime/thread/parallel.h>

// The recurrent ops: what every one of them has to do, and its own formula and errors.

namespace lockstep::test {
namespace {

struct Case {
  std::int64_t rows, time, features, units;
  bool return_sequences = false;
};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// A recurrent layer with loops, on x, kernel, recurrent_kernel and bias.
class PlainRecurrence {
 public:
  PlainRecurrence(const Case& c, std::int64_t gates, const std::vector<std::vector<double>>& in)
      : case_(c), gates_(gates), x_(in[0]), kernel_(in[1]), recurrent_(in[2]), bias_(in[3]) {}
  virtual ~PlainRecurrence() = default;

  std::vector<double> run() const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < case_.rows; ++row) run_row(row, y);
    return y;
  }

 protected:
  /// h of unit `u` after step `s`, from the states before it; `c` is the unit's second state.
  virtual double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
                      double& c) const = 0;

  double of_input(std::int64_t row, std::int64_t s, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * case_.units + u;
    double result = at(bias_, column);
    for (std::int64_t k = 0; k < case_.features; ++k)
      result += at(x_, (row * case_.time + s) * case_.features + k) * at(kernel_, k * gates_ * case_.units + column);
    return result;
  }
  double of_state(const std::vector<double>& h, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * case_.units + u;
    double result = 0;
    for (std::int64_t k = 0; k < case_.units; ++k)
      result += at(h, k) * at(recurrent_, k * gates_ * case_.units + column);
    return result;
  }
  /// Of a state's bias, which follows that of the input.
  double state_bias(std::int64_t gate, std::int64_t u) const { return at(bias_, (gates_ + gate) * case_.units + u); }
  static double at(const std::vector<double>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

 private:
  void run_row(std::int64_t row, std::vector<double>& y) const {
    std::vector<double> h(static_cast<std::size_t>(case_.units), 0);
    std::vector<double> c = h;
    for (std::int64_t s = 0; s < case_.time; ++s) {
      const std::vector<double> before = h;
      for (std::size_t u = 0; u < h.size(); ++u) h[u] = next(row, s, before, static_cast<std::int64_t>(u), c[u]);
      if (case_.return_sequences || s == case_.time - 1) y.insert(y.end(), h.begin(), h.end());
    }
  }

  Case case_;
  std::int64_t gates_;
  const std::vector<double>&x_, &kernel_, &recurrent_, &bias_;
};

/// Keras' LSTM; the gates i, f, c, o.
class PlainLstm final : public PlainRecurrence {
 public:
  PlainLstm(const Case& c, const std::vector<std::vector<double>>& in) : PlainRecurrence(c, 4, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double& c) const override {
    const auto sum = [&](std::int64_t gate) { return of_input(row, s, gate, u) + of_state(before, gate, u); };
    c = sigmoid(sum(1)) * c + sigmoid(sum(0)) * std::tanh(sum(2));
    return sigmoid(sum(3)) * std::tanh(c);
  }
};

/// Keras' GRU with reset_after; update gate, reset gate, candidate.
class PlainGru final : public PlainRecurrence {
 public:
  PlainGru(const Case& c, const std::vector<std::vector<double>>& in) : PlainRecurrence(c, 3, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double&) const override {
    const auto state = [&](std::int64_t gate) { return of_state(before, gate, u) + state_bias(gate, u); };
    const double update = sigmoid(of_input(row, s, 0, u) + state(0));
    const double reset = sigmoid(of_input(row, s, 1, u) + state(1));
    const double candidate = std::tanh(of_input(row, s, 2, u) + reset * state(2));
    return update * at(before, u) + (1 - update) * candidate;
  }
};

double hard_sigmoid(double z) { return std::clamp(z / 6 + 0.5, 0.0, 1.0); }

/// Keras' LSTM with recurrent_activation hard_sigmoid and activation softsign.
class PlainHardLstm final : public PlainRecurrence {
 public:
  PlainHardLstm(const Case& c, const std::vector<std::vector<double>>& in) : PlainRecurrence(c, 4, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double& c) const override {
    const auto sum = [&](std::int64_t gate) { return of_input(row, s, gate, u) + of_state(before, gate, u); };
    const auto softsign = [](double z) { return z / (1 + std::abs(z)); };
    c = hard_sigmoid(sum(1)) * c + hard_sigmoid(sum(0)) * softsign(sum(2));
    return hard_sigmoid(sum(3)) * softsign(c);
  }
};

/// Keras' GRU without reset_after, with recurrent_activation hard_sigmoid.
class PlainResetBeforeGru final : public PlainRecurrence {
 public:
  PlainResetBeforeGru(const Case& c, const std::vector<std::vector<double>>& in) : PlainRecurrence(c, 3, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double&) const override {
    const auto gate = [&](std::int64_t number, std::int64_t unit) {
      return hard_sigmoid(of_input(row, s, number, unit) + of_state(before, number, unit));
    };
    std::vector<double> reset = before;
    for (std::size_t k = 0; k < reset.size(); ++k) reset[k] *= gate(1, static_cast<std::int64_t>(k));
    const double candidate = std::tanh(of_input(row, s, 2, u) + of_state(reset, 2, u));
    return gate(0, u) * at(before, u) + (1 - gate(0, u)) * candidate;
  }
};

struct Kind {
  std::string name;
  std::int64_t gates;
  std::int64_t biases;  ///< for each gate's sum
  Tensor (*op)(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
               bool return_sequences);
  std::vector<double> (*plain)(const Case& c, const std::vector<std::vector<double>>& in);

  Shape bias_shape(std::int64_t units) const {
    return biases == 1 ? Shape{gates * units} : Shape{biases, gates * units};
  }
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class Recurrent : public testing::TestWithParam<Kind> {
 protected:
  std::vector<Tensor> inputs_of(const Case& c) const {
    const std::int64_t sums = kind_.gates * c.units;
    return {random_tensor({c.rows, c.time, c.features}, 1), random_tensor({c.features, sums}, 2),
            random_tensor({c.units, sums}, 3), random_tensor(kind_.bias_shape(c.units), 4)};
  }
  Tensor run(const Case& c, std::span<const Tensor> in) const {
    return kind_.op(in[0], in[1], in[2], in[3], c.return_sequences);
  }
  /// The gradients of the inputs, and the result.
  std::vector<Tensor> results_of(const Case& c, const std::vector<Tensor>& inputs) const {
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    const Tensor y = run(c, inputs);
    std::vector<Tensor> results = tape.gradient(sum(square(y)), inputs);
    results.push_back(y);
    return results;
  }

  const Kind kind_ = GetParam();
};

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same_bits(a[i], b[i]);
}

// The longest sum of a gradient is a kernel's, over all rows and steps, whose terms have each passed the sums of every
// step that follows them.
std::int64_t length_of(const Case& c) { return c.rows * c.time * (c.features + c.units); }

/// For tolerances of four times as much on GPUs: cuDNN's kernel of whole LSTM layers computes its functions only to
/// some 2e-6 of their values.
std::int64_t as_cudnn_rounds(std::int64_t length) {
  return current_context().device.kind == DeviceKind::gpu ? 16 * length : length;
}

TEST_P(Recurrent, EqualsPlainLoops) {
  const std::vector<Case> cases{{1, 1, 1, 1},       {3, 1, 2, 4, true}, {4, 5, 3, 2},
                                {2, 7, 5, 3, true}, {9, 3, 4, 17},      {5, 12, 6, 8, true}};
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ComputeThreadsScope scope(threads);
    for (const Case& c : cases) {
      SCOPED_TRACE(Shape({c.rows, c.time, c.features, c.units}).text());
      check_gradients([&](std::span<const Tensor> in) { return run(c, in); },
                      [&](const std::vector<std::vector<double>>& in) { return kind_.plain(c, in); }, inputs_of(c),
                      {.length = as_cudnn_rounds(length_of(c))});
    }
  }
}

TEST_P(Recurrent, GivesTheSameBitsAgain) {
  const Case c{33, 6, 20, 40, true};
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same(results_of(c, inputs_of(c)), results_of(c, inputs_of(c)));
  }
}

TEST_P(Recurrent, TheLastStepIsTheLastOfTheSequence) {
  const std::vector<Tensor> in = inputs_of({3, 5, 4, 6});
  const Tensor all = run({3, 5, 4, 6, true}, in);
  const Tensor last = run({3, 5, 4, 6, false}, in);
  expect_same_bits(last.view({3, 1, 6}), all.slice_view(1, 4, 5));
}

TEST_P(Recurrent, ReadsSlices) {
  const Case c{4, 5, 3, 2};
  std::vector<Tensor> in = inputs_of(c);
  const std::vector<Tensor> expected = results_of(c, in);
  in[0] = strided_copy(in[0], 1);
  expect_same(results_of(c, in), expected);
}

TEST_P(Recurrent, EachInputAloneMayBeTrained) {
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

// What is kept for the gradient may serve twice.
TEST_P(Recurrent, TwoTapesOfOneRunGiveTheSameGradients) {
  const Case c{3, 4, 5, 2, true};
  const std::vector<Tensor> in = inputs_of(c);
  GradientTape outer;
  GradientTape inner;
  for (const Tensor& input : in) {
    outer.watch(input);
    inner.watch(input);
  }
  const Tensor loss = sum(square(run(c, in)));
  expect_same(inner.gradient(loss, in), outer.gradient(loss, in));
}

TEST_P(Recurrent, NoRowsGiveZeroGradients) {
  const Case c{0, 5, 3, 2, true};
  const std::vector<Tensor> in = inputs_of(c);
  const std::vector<Tensor> results = results_of(c, in);
  EXPECT_EQ(results[4].shape(), Shape({0, 5, 2}));
  for (std::size_t i = 1; i < in.size(); ++i) expect_same_bits(results[i], Tensor::zeros(in[i].shape()));
  EXPECT_EQ(run({0, 5, 3, 2, false}, in).shape(), Shape({0, 2}));
}

TEST_P(Recurrent, NamesShapesThatDoNotFit) {
  const std::vector<Tensor> in = inputs_of({4, 5, 3, 2});
  const std::int64_t sums = kind_.gates * 2;
  const auto error = [&](std::size_t input, const Shape& shape) {
    std::vector<Tensor> changed = in;
    changed[input] = random_tensor(shape, 1);
    return error_of<InvalidArgument>([&] { run({4, 5, 3, 2}, changed); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(error(0, {4, 3}), HasSubstr("x must be f32 (n, time, features), got f32 (4, 3)"));
  EXPECT_THAT(error(1, {4, sums}), HasSubstr(fmt::format("must be f32 (3, {0}), got f32 (4, {0})", sums)));
  EXPECT_THAT(
      error(2, {2, sums + 1}),
      HasSubstr(fmt::format("recurrent kernel must be f32 (units, {} units), got f32 (2, {})", kind_.gates, sums + 1)));
  EXPECT_THAT(error(3, Shape{7}), HasSubstr(fmt::format("must be f32 {}, got f32 (7)", kind_.bias_shape(2))));
}

constexpr RecurrenceOptions hard_lstm{.activation = Activation::softsign,
                                      .recurrent_activation = Activation::hard_sigmoid};
constexpr RecurrenceOptions reset_before{.recurrent_activation = Activation::hard_sigmoid, .reset_after = false};

template <auto op, const RecurrenceOptions& formula>
Tensor composed(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                bool return_sequences) {
  RecurrenceOptions options = formula;
  options.return_sequences = return_sequences;
  return op(x, kernel, recurrent_kernel, bias, options);
}

using Composed = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const RecurrenceOptions&);
constexpr Composed composed_lstm = &lstm;
constexpr Composed composed_gru = &gru;

template <class Plain>
std::vector<double> run_plain(const Case& c, const std::vector<std::vector<double>>& in) {
  return Plain(c, in).run();
}

INSTANTIATE_TEST_SUITE_P(
    Ops, Recurrent,
    testing::Values(Kind{"lstm", 4, 1, &lstm, &run_plain<PlainLstm>}, Kind{"gru", 3, 2, &gru, &run_plain<PlainGru>},
                    Kind{"hard_lstm", 4, 1, &composed<composed_lstm, hard_lstm>, &run_plain<PlainHardLstm>},
                    Kind{"reset_before_gru", 3, 1, &composed<composed_gru, reset_before>,
                         &run_plain<PlainResetBeforeGru>}),
    [](const auto& info) { return info.param.name; });

// Of one formula there are two implementations.
TEST(ComposedRecurrence, GivesWhatTheOpsGive) {
  for (const Kind& kind : {Kind{"lstm", 4, 1, &lstm, nullptr}, Kind{"gru", 3, 2, &gru, nullptr}}) {
    const std::vector<Tensor> in{random_tensor({4, 5, 3}, 1), random_tensor({3, kind.gates * 2}, 2),
                                 random_tensor({2, kind.gates * 2}, 3), random_tensor(kind.bias_shape(2), 4)};
    const Composed op = kind.gates == 4 ? composed_lstm : composed_gru;
    const auto results = [&](const auto& run) {
      GradientTape tape;
      for (const Tensor& input : in) tape.watch(input);
      const Tensor y = run();
      std::vector<Tensor> all = tape.gradient(sum(square(y)), in);
      all.push_back(y);
      return all;
    };
    const auto expected = results([&] { return kind.op(in[0], in[1], in[2], in[3], true); });
    const auto found = results([&] { return op(in[0], in[1], in[2], in[3], {.return_sequences = true}); });
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_close(found[i], expected[i].to_vector<double>(), as_cudnn_rounds(20 * 5));
    const Tensor none = op(in[0], in[1], in[2], {}, {});
    expect_close(none, kind.op(in[0], in[1], in[2], Tensor::zeros(in[3].shape()), false).to_vector<double>(),
                 as_cudnn_rounds(20));
  }
}

TEST(ComposedRecurrence, GoesBackwards) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  std::vector<Tensor> steps = split(x, 3, 1);
  std::ranges::reverse(steps);
  const Tensor kernel = random_tensor({4, 8}, 2);
  const Tensor recurrent = random_tensor({2, 8}, 3);
  const Tensor bias = random_tensor({8}, 4);
  expect_same_bits(lstm(x, kernel, recurrent, bias, {.go_backwards = true, .return_sequences = true}),
                   lstm(concat(steps, 1), kernel, recurrent, bias, RecurrenceOptions{.return_sequences = true}));
}

}  // namespace
}  // namespace lockstep::test
