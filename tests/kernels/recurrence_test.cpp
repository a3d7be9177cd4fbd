#include <algorithm>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <kernels/cases/recurrence.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/recurrence/composed_recurrence.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>
#include <lockstep/kernels/recurrence/masked_recurrence.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>

// The recurrent ops: tests that all must pass, and tests of each one's formula and errors.

namespace lockstep::test {
namespace {

struct Case {
  std::int64_t rows, time, features, units;
  bool return_sequences = false;
};

class Recurrent : public testing::TestWithParam<RecurrentKind> {
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

  const RecurrentKind kind_ = GetParam();
};

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_same_bits(a[i], b[i]);
}

std::int64_t length_here(std::int64_t length) {
  return current_context().device.kind == DeviceKind::gpu ? as_cudnn_rounds(length) : length;
}

TEST_P(Recurrent, TheLastStepIsTheLastOfTheSequence) {
  const std::vector<Tensor> in = inputs_of({3, 5, 4, 6});
  const Tensor all = run({3, 5, 4, 6, true}, in);
  const Tensor last = run({3, 5, 4, 6, false}, in);
  expect_same_bits(last.view({3, 1, 6}), all.slice_view(1, 4, 5));
}

// State kept for the gradient can be used twice.
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
  const NoGradientScope apart;  // the outer tape does not record the inner one's gradient
  expect_same(inner.gradient(loss, in), outer.gradient(loss, in));
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

INSTANTIATE_TEST_SUITE_P(Ops, Recurrent, testing::ValuesIn(recurrent_kinds()),
                         [](const auto& info) { return as_test_name(info.param.name); });

// One formula has two implementations.
TEST(ComposedRecurrence, GivesWhatTheOpsGive) {
  for (const RecurrentKind& kind : {recurrent_kinds()[0], recurrent_kinds()[1]}) {
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
    const auto found = results([&] { return op(in[0], in[1], in[2], in[3], {.return_sequences = true}, {}, {}).h; });
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_close(found[i], expected[i].to_vector<double>(), length_here(20 * 5));
    const Tensor none = op(in[0], in[1], in[2], {}, {}, {}, {}).h;
    expect_close(none, kind.op(in[0], in[1], in[2], Tensor::zeros(in[3].shape()), false).to_vector<double>(),
                 length_here(20));
  }
}

TEST(ComposedRecurrence, GoesBackwards) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  std::vector<Tensor> steps = split(x, 3, 1);
  std::ranges::reverse(steps);
  const Tensor kernel = random_tensor({4, 8}, 2);
  const Tensor recurrent = random_tensor({2, 8}, 3);
  const Tensor bias = random_tensor({8}, 4);
  expect_same_bits(lstm(x, kernel, recurrent, bias, {.go_backwards = true, .return_sequences = true}).h,
                   lstm(concatenate(steps, 1), kernel, recurrent, bias, RecurrenceOptions{.return_sequences = true}).h);
}

TEST(ComposedRecurrence, NamesFactorsOfDropoutThatDoNotFit) {
  const std::vector<Tensor> in{random_tensor({4, 5, 3}, 1), random_tensor({3, 8}, 2), random_tensor({2, 8}, 3)};
  const auto run = [&](const RecurrentDropout& dropout) { return lstm(in[0], in[1], in[2], {}, {}, dropout); };
  EXPECT_ERROR(InvalidArgument,
               "lstm: the factors of dropout must be f32 (4, 4, 3), or 1 as second size, got f32 (4, 3)",
               run({.input = Tensor::full({4, 3}, 1)}));
  EXPECT_ERROR(InvalidArgument, "must be f32 (4, 4, 2), or 1 as second size, got f32 (4, 2, 2)",
               run({.state = Tensor::full({4, 2, 2}, 1)}));
}

TEST(RecurrentStates, NamesStatesThatDoNotFit) {
  const std::vector<Tensor> in{random_tensor({4, 5, 3}, 1), random_tensor({3, 8}, 2), random_tensor({2, 8}, 3),
                               random_tensor({8}, 4)};
  EXPECT_ERROR(InvalidArgument, "lstm: the initial state h for x (4, 5, 3) must be f32 (4, 2), got f32 (4, 3)",
               lstm(in[0], in[1], in[2], in[3], {.h = Tensor::zeros({4, 3})}, false));
  EXPECT_ERROR(InvalidArgument, "lstm: the initial state c for x (4, 5, 3) must be f32 (4, 2), got i64 (4, 2)",
               lstm(in[0], in[1], in[2], in[3], {.c = Tensor::zeros({4, 2}, DType::i64)}, false));
  EXPECT_ERROR(InvalidArgument, "simple_rnn: the initial state h for x (4, 5, 3) must be f32 (4, 8), got f32 (3, 8)",
               simple_rnn(in[0], in[1], random_tensor({8, 8}, 3), {}, {}, {}, {.h = Tensor::zeros({3, 8})}));
}

// One sequence in two parts: the second one continues from the states after the first one.
TEST(RecurrentStates, ContinueASequence) {
  const std::vector<Tensor> in{random_tensor({2, 5, 3}, 1), random_tensor({3, 8}, 2), random_tensor({2, 8}, 3),
                               random_tensor({8}, 4)};
  const auto part = [&](std::int64_t begin, std::int64_t end, const RecurrentStates& initial) {
    return lstm(slice(in[0], 1, begin, end), in[1], in[2], in[3], initial, false);
  };
  const RecurrentStates whole = part(0, 5, {});
  const RecurrentStates again = part(3, 5, part(0, 3, {}));
  expect_close(again.h, whole.h.to_vector<double>(), 20);
  expect_close(again.c, whole.c.to_vector<double>(), 20);
}

TEST(MaskedRecurrence, TakesBatchesWithoutRows) {
  const Tensor mask = Tensor::zeros({0, 4}, DType::boolean);
  const auto same = [](const Tensor& x) { return RecurrentStates{.h = x}; };
  const auto run = [&](const MaskedRecurrenceOptions& options) {
    return masked_recurrence(Tensor::zeros({0, 4, 2}), mask, options, same);
  };
  EXPECT_EQ(run({}).y.shape(), Shape({0, 2}));
  EXPECT_EQ(run({.return_sequences = true}).y.shape(), Shape({0, 4, 2}));
  EXPECT_EQ(run({.return_state = true}).states.h.shape(), Shape({0, 2}));
}

TEST(MaskedRecurrence, RefusesAMaskThatDoesNotFit) {
  const auto same = [](const Tensor& x) { return RecurrentStates{.h = x}; };
  const Tensor x = Tensor::zeros({2, 4, 3});
  EXPECT_ERROR(InvalidArgument, "takes a mask of bool (2, 4), got bool (2, 3)",
               masked_recurrence(x, Tensor::zeros({2, 3}, DType::boolean), {}, same));
  EXPECT_ERROR(InvalidArgument, "takes a mask of bool (2, 4), got f32 (2, 4)",
               masked_recurrence(x, Tensor::zeros({2, 4}), {}, same));
}

}  // namespace
}  // namespace lockstep::test
