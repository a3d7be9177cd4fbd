// Tests that every op must pass, for the rows of cases/op_case.h.

#include <algorithm>
#include <cmath>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/errors.h>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNan;

using Inputs = std::vector<Tensor>;

/// The row with this number.
class OpTest : public testing::TestWithParam<std::size_t> {
 protected:
  /// Copies the inputs to the device that computes: rows are created before a device is chosen.
  OpTest() {
    for (const Tensor& input : op_.inputs) inputs_.push_back(to_current_device(input));
    if (current_context().device.kind == DeviceKind::gpu && op_.length_on_gpus > 0) check_.length = op_.length_on_gpus;
  }

  /// The inputs, the data among them changed.
  template <class Change>
  Inputs changed(const Change& change) const {
    Inputs result = inputs_;
    for (std::size_t i = 0; i < op_.data; ++i)
      if (result[i].rank() > 0) result[i] = change(result[i]);
    return result;
  }

  Inputs without_rows(DType data) const {
    Inputs result = inputs_;
    for (std::size_t i = 0; i < op_.data; ++i) {
      Shape shape = result[i].shape();
      shape[0] = 0;
      result[i] = Tensor::zeros(shape, data);
    }
    return result;
  }

  /// Inputs rounded to bf16; data in the dtype `data`, parameters in `parameters`.
  Inputs rounded(DType data, DType parameters) const {
    Inputs result;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      result.push_back(cast(cast(inputs_[i], DType::bf16), i < op_.data ? data : parameters));
    return result;
  }

  /// Weights that bf16 represents exactly.
  static Tensor weights_of(const Tensor& y) {
    return cast(cast(to_current_device(random_tensor(y.shape(), 4711, 0.5, 1.5)), DType::bf16), DType::f32);
  }

  /// The result, then the gradients of the inputs, in their dtypes.
  std::vector<Tensor> results_of(const Inputs& inputs) const { return results_of(inputs, inputs); }
  /// The same, with the gradients of the inputs in `trained` only.
  std::vector<Tensor> results_of(const Inputs& inputs, std::span<const Tensor> trained) const {
    GradientTape tape;
    for (const Tensor& input : trained) tape.watch(input);
    std::vector<Tensor> results{op_.run(inputs)};
    const Tensor& y = results.front();
    const Tensor weights = cast(weights_of(y), y.dtype());
    std::ranges::move(tape.gradient(sum(multiply(y, weights)), trained), std::back_inserter(results));
    return results;
  }

  /// The op's error for inputs that it does not accept; empty when it accepts them.
  std::string refusal_of(const Inputs& inputs) const {
    try {
      op_.run(inputs);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return {};
  }

  const OpCase& op_ = op_cases()[GetParam()];
  GradientCheck check_ = op_.check;
  Inputs inputs_;
};

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(result_name(i));
    expect_same_bits(a[i], b[i]);
  }
}

/// Compares up to a few bf16 roundings, relative to the largest number.
void expect_near(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> found = actual.to_vector<double>();
  const std::vector<double> wanted = expected.to_vector<double>();
  ASSERT_EQ(actual.shape(), expected.shape());
  double largest = 1e-3;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 3 * epsilon_of(DType::bf16) * (largest / 4 + std::abs(wanted[i])))
        << "element " << i;
}

TEST_P(OpTest, EqualsItsReference) {
  check_.threads = {1, 2, 3};
  check_gradients(op_.run, op_.reference, inputs_, check_);
}

TEST_P(OpTest, HasTheSecondGradientOfItsReference) {
  if (op_.is_large) return;
  if (op_.no_second_gradient.empty()) return check_second_gradients(op_.run, op_.reference, inputs_, check_);
  const Tensor weights = weights_of(op_.run(inputs_));
  const auto refused = [&] { second_gradients(op_.run, inputs_, weights, few_directions(inputs_)); };
  EXPECT_THAT(error_of<Unsupported>(refused), testing::AllOf(HasSubstr("gradient of " + op_.function()),
                                                             HasSubstr("this gradient is not differentiable itself")));
}

TEST_P(OpTest, OfSlicesGivesTheSameBits) {
  expect_same(results_of(changed([](const Tensor& x) { return strided_copy(x); })), results_of(inputs_));
}

/// Libraries may compute broadcast matrices, which are copied for them, in another order.
TEST_P(OpTest, OfBroadcastDataGivesTheSameResults) {
  const Inputs views = changed(broadcast_first);
  Inputs copies;
  for (const Tensor& view : views) copies.push_back(make_dense(view));
  const std::vector<Tensor> results = results_of(views);
  const std::vector<Tensor> expected = results_of(copies);
  for (std::size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(result_name(i));
    expect_same_wherever(op_, results[i], expected[i]);
  }
}

TEST_P(OpTest, GivesTheSameBitsAgain) {
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    const std::vector<Tensor> results = results_of(inputs_);
    expect_same(results_of(inputs_), results);
    if (op_.same_bits_on_any_threads && !first.empty()) expect_same(results, first);
    first = results;
  }
}

TEST_P(OpTest, EachInputAloneMayBeTrained) {
  const std::vector<Tensor> expected = results_of(inputs_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor gradient = results_of(inputs_, std::span(&inputs_[i], 1))[1];
    expect_close(gradient, expected[i + 1].to_vector<double>(), check_.length, check_.magnitude);
  }
}

TEST_P(OpTest, OfBfloat16IsThatOfF32Rounded) {
  const DType parameters = op_.bf16 == Bf16::all ? DType::bf16 : DType::f32;
  if (op_.bf16 == Bf16::none) {
    EXPECT_THAT(refusal_of(rounded(DType::bf16, DType::bf16)), HasSubstr("f32"));
    return;
  }
  const std::vector<Tensor> wide = results_of(rounded(DType::f32, DType::f32));
  for (const int threads : {1, 2}) {
    const ComputeThreadsScope scope(threads);
    const std::vector<Tensor> narrow = results_of(rounded(DType::bf16, parameters));
    expect_same(results_of(rounded(DType::bf16, parameters)), narrow);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      SCOPED_TRACE(result_name(i));
      EXPECT_EQ(narrow[i].dtype(), i <= op_.data ? DType::bf16 : parameters);
      expect_near(narrow[i], wide[i]);
    }
  }
}

TEST_P(OpTest, KeepsNan) {
  if (inputs_[0].elements() == 0) return;
  Inputs inputs = inputs_;
  inputs[0] = Tensor::full(inputs[0].shape(), std::nan(""));
  const std::vector<float> result = op_.run(inputs).to_vector<float>();
  if (op_.nan_spreads)
    EXPECT_THAT(result, Each(IsNan()));
  else
    EXPECT_THAT(result, Contains(IsNan()));
}

TEST_P(OpTest, OfNoRowsHasGradientsOfZero) {
  if (op_.data == 0 || !op_.takes_no_rows || inputs_[0].rank() == 0) return;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    if (dtype == DType::bf16 && op_.bf16 == Bf16::none) continue;
    const Inputs inputs = without_rows(dtype);
    const std::vector<Tensor> results = results_of(inputs);
    EXPECT_THAT(results[0].to_vector<float>(), Each(0));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(results[i + 1].shape(), inputs[i].shape());
      EXPECT_THAT(results[i + 1].to_vector<float>(), Each(0));
    }
  }
}

TEST_P(OpTest, NamesItselfWhenAnInputIsUndefined) {
  const std::string first = op_.calls_first.empty() ? op_.function() : op_.calls_first;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Inputs inputs = inputs_;
    inputs[i] = Tensor();
    const std::string refusal = refusal_of(inputs);
    if (i + op_.optional >= inputs.size() || (i < op_.data && i + op_.optional_data >= op_.data))
      EXPECT_THAT(refusal, IsEmpty());
    else
      EXPECT_THAT(refusal, testing::AllOf(HasSubstr(first), HasSubstr("undefined"))) << "input " << i;
  }
}

TEST_P(OpTest, NamesItselfAndItsTypesWhenAnInputIsOfIntegers) {
  Inputs inputs = inputs_;
  for (Tensor& input : inputs) input = cast(input, DType::i64);
  if (op_.takes_integers || op_.takes_any_dtype || op_.integers_give_f32)
    EXPECT_EQ(op_.run(inputs).dtype(), op_.integers_give_f32 ? DType::f32 : DType::i64);
  else
    EXPECT_THAT(refusal_of(inputs), testing::AllOf(HasSubstr(op_.function()), HasSubstr("f32"), HasSubstr("got i64")));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTest, testing::Range<std::size_t>(0, op_cases().size()),
                         [](const auto& info) { return test_name(op_cases(), info.param); });

}  // namespace
}  // namespace lockstep::test
