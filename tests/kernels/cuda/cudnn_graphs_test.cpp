// cuDNN plans for GPUs that are only described, up to the choice of an algorithm. Nothing is computed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cuda/convolution_cases.h>
#include <kernels/cuda/described_gpus.h>
#include <support/errors.h>

namespace lockstep::test {
namespace {

using cudnn::Convolution;
using cudnn::ConvolutionPass;
using cudnn::ConvolutionPlan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Convolution> passes_of(const ConvolutionCase& c, DType dtype) {
  Convolution biased = convolution_of(c, ConvolutionPass::forward, dtype);
  biased.bias = true;
  Convolution rectified = biased;
  rectified.relu = true;
  return {convolution_of(c, ConvolutionPass::forward, dtype), biased, rectified,
          convolution_of(c, ConvolutionPass::gradient_x, dtype),
          convolution_of(c, ConvolutionPass::gradient_kernel, dtype)};
}

class CudnnPlans : public ::testing::TestWithParam<std::tuple<GpuFigures, DType>> {
 protected:
  static cudnn::DescribedGpu gpu() { return described(std::get<0>(GetParam())); }
  static DType dtype() { return std::get<1>(GetParam()); }

  /// Every pass of every case has an algorithm that fits into the scratch memory it may take.
  static void plan(const std::vector<ConvolutionCase>& cases) {
    for (const ConvolutionCase& c : cases)
      for (const Convolution& convolution : passes_of(c, dtype())) {
        SCOPED_TRACE(convolution.text());
        try {
          const ConvolutionPlan plan(convolution, gpu());
          EXPECT_FALSE(plan.engine().empty());
          EXPECT_LE(plan.workspace_bytes(), std::int64_t{1} << 30);
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      }
  }
};

TEST_P(CudnnPlans, ExistForEveryOption) { plan(small_convolutions()); }
TEST_P(CudnnPlans, ExistForMiniGoogLeNet) { plan(mini_googlenet_convolutions()); }
TEST_P(CudnnPlans, ExistForResNet50) { plan(resnet50_convolutions()); }
TEST_P(CudnnPlans, ExistForXception) { plan(xception_convolutions()); }

TEST_P(CudnnPlans, AreTheSameAgain) {
  for (const Convolution& convolution : passes_of(mini_googlenet_convolutions().front(), dtype())) {
    const ConvolutionPlan first(convolution, gpu());
    const ConvolutionPlan second(convolution, gpu());
    EXPECT_EQ(first.engine(), second.engine());
    EXPECT_EQ(first.workspace_bytes(), second.workspace_bytes());
  }
}

TEST_P(CudnnPlans, AreRefusedForTensorsThatDoNotFit) {
  Convolution wrong = convolution_of({{2, 8, 8, 4}, {3, 3, 4, 8}}, ConvolutionPass::forward, dtype());
  ++wrong.y_size[0];
  EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan plan(wrong, gpu()); }),
              AllOf(HasSubstr(fmt::format("cuDNN cannot run the convolution of {} x (2, 8, 8, 4) with kernel "
                                          "(3, 3, 4, 8)",
                                          name(dtype()))),
                    Not(HasSubstr("\n"))));
  const Convolution uneven = convolution_of({{2, 8, 8, 4}, {3, 3, 1, 6}}, ConvolutionPass::gradient_x, dtype());
  EXPECT_THAT(error_of<Unsupported>([&] { const ConvolutionPlan plan(uneven, gpu()); }),
              HasSubstr(fmt::format("data gradient of a convolution of {} x (2, 8, 8, 4) with kernel (3, 3, 1, 6)",
                                    name(dtype()))));
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlans,
                         ::testing::Combine(::testing::ValuesIn(gpu_figures()),
                                            ::testing::Values(DType::f32, DType::bf16)),
                         [](const auto& info) {
                           return fmt::format("ComputeCapability{}_{}", std::get<0>(info.param).compute_capability,
                                              name(std::get<1>(info.param)));
                         });

TEST(CudnnPlan, NamesWhatADescriptionOfAGpuLacks) {
  const Convolution convolution = convolution_of({{2, 8, 8, 4}, {3, 3, 4, 8}}, ConvolutionPass::forward);
  EXPECT_THAT(error_of<Unsupported>([&] {
                const ConvolutionPlan plan(convolution, {"{}", 90});
              }),
              HasSubstr("with kernel (3, 3, 4, 8)"));
}

}  // namespace
}  // namespace lockstep::test
