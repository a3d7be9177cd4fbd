// cuDNN's classic functions: what they are told of convolutions, what is chosen of what they offer, and that what they
// are said to compute is what is asked for. The choice and the work are pretended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cuda/convolution_cases.h>
#include <kernels/cuda/pretended_cudnn.h>
#include <support/errors.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/kernels/convolution/convolution_kernels.h>
#include <lockstep/kernels/cuda/convolution_descriptors.h>
#include <lockstep/kernels/cuda/tuned_plan.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/runtime/device/contracts.h>

namespace lockstep::test {
namespace {

using cudnn::Convolution;
using cudnn::ConvolutionPass;
using cudnn::ConvolutionPlan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array passes{ConvolutionPass::forward, ConvolutionPass::gradient_x, ConvolutionPass::gradient_kernel};

/// Nothing looks at what it points to.
cudnnHandle_t handle() {
  static int anything = 0;
  return reinterpret_cast<cudnnHandle_t>(&anything);
}

std::vector<ConvolutionCase> all_convolutions() {
  std::vector<ConvolutionCase> all = small_convolutions();
  for (const auto& model : {mini_googlenet_convolutions(), resnet50_convolutions(), xception_convolutions()})
    all.insert(all.end(), model.begin(), model.end());
  return all;
}

std::array<int, 4> narrow(const std::array<std::int64_t, 4>& values) {
  std::array<int, 4> result{};
  std::ranges::transform(values, result.begin(), [](std::int64_t value) { return static_cast<int>(value); });
  return result;
}

class ClassicCudnn : public ::testing::Test {
 protected:
  ~ClassicCudnn() override { pretended_cudnn() = {}; }
};
class ClassicCudnnOf : public ::testing::TestWithParam<std::tuple<ConvolutionCase, DType>> {
 protected:
  const ConvolutionCase& c_ = std::get<0>(GetParam());
  const DType dtype_ = std::get<1>(GetParam());

  Tensor numbers(const Shape& shape, unsigned seed) const { return in_dtype(dtype_, random_tensor(shape, seed)); }
};

void expect_layout(const cudnn::TensorDescriptor& descriptor, const cudnn::Layout& layout, cudnnDataType_t type) {
  cudnnDataType_t its_type{};
  std::array<int, 4> n{};
  std::array<int, 4> s{};
  ASSERT_EQ(
      cudnnGetTensor4dDescriptor(descriptor.get(), &its_type, &n[0], &n[1], &n[2], &n[3], &s[0], &s[1], &s[2], &s[3]),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(its_type, type);
  EXPECT_EQ(n, narrow(layout.sizes));
  EXPECT_EQ(s, narrow(layout.strides));
}

void expect_filters(const cudnn::FilterDescriptor& descriptor, const Convolution& c, cudnnDataType_t type) {
  cudnnDataType_t its_type{};
  cudnnTensorFormat_t format{};
  std::array<int, 4> n{};
  ASSERT_EQ(cudnnGetFilter4dDescriptor(descriptor.get(), &its_type, &format, &n[0], &n[1], &n[2], &n[3]),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(its_type, type);
  EXPECT_EQ(format, CUDNN_TENSOR_NHWC);
  EXPECT_EQ(n, narrow(c.kernel().sizes));
}

void expect_window(const cudnn::ConvolutionDescriptor& descriptor, const Convolution& c) {
  std::array<int, 2> padding{};
  std::array<int, 2> strides{};
  std::array<int, 2> dilation{};
  cudnnConvolutionMode_t mode{};
  cudnnDataType_t sums{};
  ASSERT_EQ(cudnnGetConvolution2dDescriptor(descriptor.get(), &padding[0], &padding[1], &strides[0], &strides[1],
                                            &dilation[0], &dilation[1], &mode, &sums),
            CUDNN_STATUS_SUCCESS);
  EXPECT_THAT(padding, ::testing::ElementsAreArray(c.pads_before));
  EXPECT_THAT(padding, ::testing::ElementsAreArray(c.pads_after));
  EXPECT_THAT(strides, ::testing::ElementsAreArray(c.strides));
  EXPECT_THAT(dilation, ::testing::ElementsAreArray(c.dilation));
  EXPECT_EQ(mode, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(sums, CUDNN_DATA_FLOAT);
  int groups = 0;
  ASSERT_EQ(cudnnGetConvolutionGroupCount(descriptor.get(), &groups), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(groups, c.groups);
  cudnnMathType_t math{};
  ASSERT_EQ(cudnnGetConvolutionMathType(descriptor.get(), &math), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(math, c.dtype == DType::f32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH);
}

TEST(ConvolutionDescriptors, SayWhatConvolutionsAre) {
  for (const ConvolutionCase& one : all_convolutions())
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Convolution c = cudnn::with_even_padding(convolution_of(one, ConvolutionPass::forward, dtype));
      SCOPED_TRACE(c.text());
      const cudnn::ConvolutionDescriptors d(c);
      const cudnnDataType_t type = dtype == DType::f32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
      expect_layout(d.x, c.x(), type);
      expect_layout(d.y, c.y(), type);
      expect_layout(d.bias, c.bias_layout(), type);
      expect_filters(d.kernel, c, type);
      expect_window(d.window, c);
      std::array<int, 4> y{};
      ASSERT_EQ(cudnnGetConvolutionNdForwardOutputDim(d.window.get(), d.x.get(), d.kernel.get(), 4, y.data()),
                CUDNN_STATUS_SUCCESS);
      EXPECT_EQ(y, narrow(c.y().sizes));
    }
}

TEST(ConvolutionDescriptors, HaveNothingBehindTheBias) {
  const cudnn::ConvolutionDescriptors d(convolution_of({{2, 8, 8, 4}, {3, 3, 4, 8}}, ConvolutionPass::forward));
  cudnnActivationMode_t mode{};
  cudnnNanPropagation_t nan{};
  double limit = 0;
  ASSERT_EQ(cudnnGetActivationDescriptor(d.activation.get(), &mode, &nan, &limit), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(mode, CUDNN_ACTIVATION_IDENTITY);
}

TEST(ConvolutionDescriptors, RefuseMoreElementsThanAnIntCounts) {
  const Convolution c = convolution_of({{1 << 20, 64, 64, 1}, {1, 1, 1, 1}}, ConvolutionPass::forward);
  EXPECT_THAT(error_of<Unsupported>([&] { const cudnn::ConvolutionDescriptors d(c); }),
              AllOf(HasSubstr("convolution of f32 x (1048576, 64, 64, 1)"), HasSubstr("4294967296 elements")));
}

/// Memory that builds which check contracts are to take for a GPU's.
class GpuBlock {
 public:
  GpuBlock(const void* memory, const cudnn::Layout& layout, DType dtype) : memory_(memory) {
    const std::size_t bytes = static_cast<std::size_t>(layout.elements()) * size_of(dtype);
    contracts::begin_block(this, current_context().device, memory, bytes);
  }
  ~GpuBlock() { contracts::end_block(this, memory_); }
  GpuBlock(const GpuBlock&) = delete;
  GpuBlock& operator=(const GpuBlock&) = delete;

 private:
  const void* memory_;
};

void run(const ConvolutionPlan& plan, const Convolution& c, const ConvolutionPlan::Operands& operands) {
  const GpuBlock x(operands.x, c.x(), c.dtype);
  const GpuBlock kernel(operands.kernel, c.kernel(), c.dtype);
  const GpuBlock y(operands.y, c.y(), c.dtype);
  const GpuBlock bias(operands.bias, c.bias_layout(), c.dtype);
  plan.run(handle(), operands, nullptr);
}

void run(const Convolution& c, const ConvolutionPlan::Operands& operands) {
  run(ConvolutionPlan(c, handle()), c, operands);
}

TEST_P(ClassicCudnnOf, GivesTheCpusResult) {
  Convolution c = convolution_of(c_, ConvolutionPass::forward, dtype_);
  const Tensor x = numbers(c_.x, 1);
  const Tensor kernel = random_tensor(c_.kernel, 2);
  const Tensor bias = in_dtype(DType::f32, numbers({c.filters}, 3));
  for (const bool has_bias : {false, true}) {
    c.bias = has_bias;
    const Tensor expected = Tensor::empty(result_shape(c_), dtype_);
    launch(kernels::Conv2d{x, kernel, has_bias ? bias : Tensor(), sliding(c_).window, Activation::linear, expected});
    const Tensor filters = cudnn::filters_first(kernel, dtype_);
    const Tensor y = Tensor::full(expected.shape(), std::nan(""), dtype_);
    const Tensor images = cudnn::padded(c, x);
    const Tensor shift = in_dtype(dtype_, bias);
    run(cudnn::with_even_padding(c), {images.raw_data(), filters.raw_data(), y.raw_data(), shift.raw_data()});
    expect_sums(c, y, expected.to_vector<double>());
  }
}

TEST_P(ClassicCudnnOf, GivesTheCpusGradientOfX) {
  const Convolution c = convolution_of(c_, ConvolutionPass::gradient_x, dtype_);
  const Tensor dy = numbers(result_shape(c_), 1);
  const Tensor kernel = random_tensor(c_.kernel, 2);
  const Tensor expected = Tensor::empty(c_.x, dtype_);
  launch(kernels::Conv2dGradientX{dy, kernel, sliding(c_).window, Write::replace, expected});
  const Convolution even = cudnn::with_even_padding(c);
  const Tensor whole = Tensor::full(even.x_shape(), std::nan(""), dtype_);
  const Tensor filters = cudnn::filters_first(kernel, dtype_);
  run(even, {whole.raw_data(), filters.raw_data(), dy.raw_data()});
  const Tensor dx = Tensor::empty(c_.x, dtype_);
  launch(kernels::Convert{cudnn::unpadded_view(c, whole), dx});
  expect_sums(c, dx, expected.to_vector<double>());
}

TEST_P(ClassicCudnnOf, GivesTheCpusGradientOfTheKernel) {
  const Convolution c = convolution_of(c_, ConvolutionPass::gradient_kernel, dtype_);
  const Tensor x = numbers(c_.x, 1);
  const Tensor dy = numbers(result_shape(c_), 2);
  const Tensor expected = Tensor::empty(c_.kernel);
  launch(kernels::Conv2dGradientKernel{x, dy, sliding(c_).window, expected, {}});
  const Tensor images = cudnn::padded(c, x);
  const Tensor filters = cudnn::empty_filters_first(c_.kernel, dtype_);
  run(cudnn::with_even_padding(c), {images.raw_data(), filters.raw_data(), dy.raw_data()});
  const Tensor dkernel = Tensor::empty(c_.kernel);
  cudnn::filters_last(filters, dkernel);
  expect_sums(c, dkernel, expected.to_vector<double>());
}

INSTANTIATE_TEST_SUITE_P(Small, ClassicCudnnOf,
                         ::testing::Combine(::testing::ValuesIn(small_convolutions()),
                                            ::testing::Values(DType::f32, DType::bf16)));

Convolution some_convolution(ConvolutionPass pass, DType dtype = DType::f32) {
  return convolution_of({{2, 5, 6, 16}, {3, 3, 16, 8}, {.padding = Padding::same}}, pass, dtype);
}

/// Enough for that one.
struct SomeMemory {
  Tensor x = Tensor::zeros({1024}), kernel = Tensor::zeros({2048}), y = Tensor::zeros({1024});

  ConvolutionPlan::Operands operands() const { return {x.raw_data(), kernel.raw_data(), y.raw_data()}; }
};

TEST_F(ClassicCudnn, HasNoRelu) {
  for (const DType dtype : {DType::f32, DType::bf16}) EXPECT_FALSE(cudnn::takes_relu(dtype));
  Convolution c = some_convolution(ConvolutionPass::forward);
  c.bias = c.relu = true;
  EXPECT_THAT(error_of<Unsupported>([&] { ConvolutionPlan(c, handle()); }),
              AllOf(HasSubstr(", bias, relu"), HasSubstr("makes 0 of NaN")));
}

TEST_F(ClassicCudnn, IsOfTheFirstAlgorithmThatAddsInOrderWithinTheLimit) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  constexpr auto any_order = CUDNN_NON_DETERMINISTIC;
  pretended_cudnn().algorithms = {{CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD},
                                  {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING},
                                  {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_DEFAULT_MATH, any_order},
                                  {1, CUDNN_DEFAULT_MATH, CUDNN_DETERMINISTIC, limit + 1},
                                  {1, CUDNN_DEFAULT_MATH, CUDNN_DETERMINISTIC, 0, CUDNN_STATUS_NOT_SUPPORTED},
                                  {1, CUDNN_DEFAULT_MATH, CUDNN_DETERMINISTIC, limit},
                                  {0}};
  for (const ConvolutionPass pass : passes) {
    const ConvolutionPlan plan(some_convolution(pass), handle());
    EXPECT_EQ(plan.engine(), "algorithm 1, math type 0");
    EXPECT_EQ(plan.workspace_bytes(), static_cast<std::int64_t>(limit));
    EXPECT_FALSE(plan.on_tensor_cores());
  }
}

TEST_F(ClassicCudnn, UsesNoTensorCoresForFloat) {
  pretended_cudnn().algorithms = {
      {1, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION}, {1, CUDNN_TENSOR_OP_MATH}, {1, CUDNN_DEFAULT_MATH}};
  for (const ConvolutionPass pass : passes) {
    Convolution c = some_convolution(pass);
    const SomeMemory memory;
    run(c, memory.operands());
    EXPECT_EQ(pretended_cudnn().math, CUDNN_FMA_MATH);
    EXPECT_FALSE(ConvolutionPlan(c, handle()).on_tensor_cores());
    c.dtype = DType::bf16;
    run(c, memory.operands());
    EXPECT_EQ(pretended_cudnn().math, CUDNN_TENSOR_OP_MATH);
    EXPECT_TRUE(ConvolutionPlan(c, handle()).on_tensor_cores());
  }
}

// As cuDNN's documentation says that it has to be.
TEST_F(ClassicCudnn, AddsABiasAloneByImplicitPrecompGemm) {
  pretended_cudnn().algorithms = {{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM},
                                  {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM}};
  Convolution c = some_convolution(ConvolutionPass::forward);
  EXPECT_THAT(ConvolutionPlan(c, handle()).engine(), HasSubstr("algorithm 0"));
  c.bias = true;
  EXPECT_THAT(ConvolutionPlan(c, handle()).engine(), HasSubstr("algorithm 1"));
}

TEST_F(ClassicCudnn, LeavesOutAlgorithmsThatNeedNobodyKnowsWhat) {
  pretended_cudnn().algorithms = {{0}, {1}};
  pretended_cudnn().without_workspace = 0;
  const Convolution c = some_convolution(ConvolutionPass::forward);
  EXPECT_THAT(ConvolutionPlan(c, handle()).engine(), HasSubstr("algorithm 1"));
  pretended_cudnn().algorithms = {{0}};
  EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan plan(c, handle()); }), HasSubstr(c.text()));
}

TEST_F(ClassicCudnn, TakesTheAlgorithmThatIsFastestAndFindsItAgain) {
  pretended_cudnn().algorithms = {{0}, {1}, {2}};
  const Convolution c = some_convolution(ConvolutionPass::forward);
  for (const std::string fastest : {"algorithm 0", "algorithm 1", "algorithm 2"}) {
    const auto time_of = [&](const ConvolutionPlan& plan) { return plan.engine().starts_with(fastest) ? 1.0 : 2.0; };
    const ConvolutionPlan plan(c, handle(), time_of);
    EXPECT_THAT(plan.engine(), HasSubstr(fastest));
    const auto restored = ConvolutionPlan::restored(c, handle(), plan.serialized());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->engine(), plan.engine());
  }
  EXPECT_FALSE(ConvolutionPlan::restored(c, handle(), {}));
  EXPECT_FALSE(ConvolutionPlan::restored(c, handle(), {'a', '\n'}));
  const auto bytes = ConvolutionPlan(c, handle()).serialized();
  pretended_cudnn().algorithms = {{1}};
  EXPECT_FALSE(ConvolutionPlan::restored(c, handle(), bytes));
}

TEST_F(ClassicCudnn, IsTimedOnce) {
  pretended_cudnn().algorithms = {{0}, {1}};
  const TemporaryFolder folder;
  int timers = 0;
  for (int turn = 0; turn < 2; ++turn) {
    cudnn::PlanCache cache(folder.path());
    const auto plan = cudnn::tuned_plan(cache, "this GPU", some_convolution(ConvolutionPass::forward), handle(), [&] {
      ++timers;
      return [](const ConvolutionPlan& of) { return of.engine().starts_with("algorithm 1") ? 1.0 : 2.0; };
    });
    EXPECT_THAT(plan.engine(), HasSubstr("algorithm 1"));
  }
  EXPECT_EQ(timers, 1);
}

TEST_F(ClassicCudnn, SaysInItsVersionsThatPlansAreOfTheClassicFunctions) {
  EXPECT_THAT(cudnn::versions(), AllOf(HasSubstr("cuDNN 9."), HasSubstr("classic functions")));
}

TEST_F(ClassicCudnn, RefusesWhatOnlyGraphsCanBeTold) {
  const Convolution c = some_convolution(ConvolutionPass::gradient_x);
  EXPECT_THAT(error_of<Unsupported>([&] {
                const ConvolutionPlan plan(c, cudnn::DescribedGpu{"{}", 90});
              }),
              AllOf(HasSubstr(c.text()), HasSubstr("cudnn-frontend"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(cudnn::takes_uneven_padding());
  Convolution uneven = c;
  ++uneven.pads_after[1];
  EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan plan(uneven, handle()); }),
              AllOf(HasSubstr(uneven.text()), HasSubstr("cudnn-frontend"), Not(HasSubstr("\n"))));
}

TEST_F(ClassicCudnn, NamesTheConvolutionThatCudnnRefuses) {
  for (const ConvolutionPass pass : passes) {
    const Convolution c = some_convolution(pass, DType::bf16);
    const ConvolutionPlan plan(c, handle());
    const SomeMemory memory;
    pretended_cudnn().status = CUDNN_STATUS_EXECUTION_FAILED;
    EXPECT_THAT(error_of<DeviceError>([&] { run(plan, c, memory.operands()); }),
                AllOf(HasSubstr(c.text()), HasSubstr("CPU:0"), HasSubstr("CUDNN_STATUS_EXECUTION_FAILED"),
                      HasSubstr("by algorithm 1")));
    EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan refused(c, handle()); }),
                HasSubstr("cuDNN cannot run the " + c.text()));
    pretended_cudnn() = {};
    pretended_cudnn().algorithms = {};
    EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan refused(c, handle()); }), HasSubstr(c.text()));
    pretended_cudnn() = {};
  }
}

}  // namespace
}  // namespace lockstep::test
