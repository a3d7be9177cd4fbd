// Tests that every op without a gradient must pass, for the rows of cases/op_case.h.

#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/expect_error.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/creation.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Inputs = std::vector<Tensor>;

/// The row with this number.
class OpWithoutGradient : public testing::TestWithParam<std::size_t> {
 protected:
  OpWithoutGradient() {
    for (const Tensor& input : op_.inputs) inputs_.push_back(to_current_device(input));
  }

  /// The inputs, the data among them changed.
  template <class Change>
  Inputs changed(const Change& change) const {
    Inputs result = inputs_;
    for (std::size_t i = 0; i < std::min(op_.data, result.size()); ++i)
      if (result[i].rank() > 0) result[i] = change(result[i]);
    return result;
  }

  const OpCase& op_ = op_cases_without_gradient()[GetParam()];
  Inputs inputs_;
};

TEST_P(OpWithoutGradient, EqualsItsReference) {
  Values values;
  for (const Tensor& input : inputs_) values.push_back(input.to_vector<double>());
  const std::vector<double> expected = op_.reference(values);
  const Tensor y = op_.run(inputs_);
  EXPECT_EQ(y.dtype(), *op_.gives);
  if (is_real(y.dtype()))
    expect_close(y, expected, op_.check.length);
  else
    EXPECT_EQ(y.to_vector<double>(), expected);
}

TEST_P(OpWithoutGradient, GivesTheSameBitsAgain) {
  const Tensor first = op_.run(inputs_);
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    expect_same_bits(op_.run(inputs_), first);
  }
}

TEST_P(OpWithoutGradient, OfSlicesGivesTheSameBits) {
  const Inputs slices = changed([](const Tensor& x) {
    const Tensor other = ones_like(x);
    return slice(concatenate(std::array{other, x, other}, -1), -1, x.dim(-1), 2 * x.dim(-1));
  });
  expect_same_bits(op_.run(slices), op_.run(inputs_));
}

TEST_P(OpWithoutGradient, OfBroadcastDataGivesTheSameBits) {
  const Inputs views = changed(broadcast_first);
  Inputs copies;
  for (const Tensor& view : views) copies.push_back(make_dense(view));
  expect_same_bits(op_.run(views), op_.run(copies));
}

TEST_P(OpWithoutGradient, OfNoRowsIsZero) {
  if (inputs_.empty() || !op_.takes_no_rows || inputs_[0].rank() == 0) return;
  const Tensor y = op_.run(changed([](const Tensor& x) { return slice(x, 0, 0, 0); }));
  EXPECT_THAT(y.to_vector<double>(), testing::Each(0));
  EXPECT_EQ(y.rank(), op_.run(inputs_).rank());
  EXPECT_EQ(y.dtype(), *op_.gives);
}

TEST_P(OpWithoutGradient, NamesItselfWhenAnInputIsUndefined) {
  const std::string first = op_.calls_first.empty() ? op_.function() : op_.calls_first;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Inputs inputs = inputs_;
    inputs[i] = Tensor();
    EXPECT_THAT(error_of<InvalidArgument>([&] { op_.run(inputs); }), AllOf(HasSubstr(first), HasSubstr("undefined")))
        << "input " << i;
  }
}

TEST_P(OpWithoutGradient, NamesItselfAndTheDtypesThatItTakes) {
  for (const DType dtype : op_.refuses) {
    Inputs inputs;
    for (const Tensor& input : inputs_) inputs.push_back(Tensor::zeros(input.shape(), dtype));
    EXPECT_ERROR(InvalidArgument, op_.function(), op_.run(inputs));
    EXPECT_ERROR(InvalidArgument, std::string(name(inputs_[0].dtype())), op_.run(inputs));
    EXPECT_ERROR(InvalidArgument, fmt::format("got {}", name(dtype)), op_.run(inputs));
  }
}

TEST_P(OpWithoutGradient, IsAConstantForTapes) {
  if (op_.takes_integers || op_.takes_any_dtype) return;  // some ops record integers as they record real numbers
  GradientTape tape;
  for (const Tensor& input : inputs_) tape.watch(input);
  const Tensor y = op_.run(inputs_);
  EXPECT_ERROR(LogicError, "the target depends on no variable", tape.gradient(y, inputs_));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpWithoutGradient, testing::Range<std::size_t>(0, op_cases_without_gradient().size()),
                         [](const auto& info) { return test_name(op_cases_without_gradient(), info.param); });

}  // namespace
}  // namespace lockstep::test
