// cuDNN plans for described GPUs, up to the choice of an algorithm. Nothing is computed.

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cuda/convolution_cases.h>
#include <kernels/cuda/described_gpus.h>
#include <support/errors.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/cuda/tuned_plan.h>

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
  std::vector<Convolution> passes{convolution_of(c, ConvolutionPass::forward, dtype), biased,
                                  convolution_of(c, ConvolutionPass::gradient_x, dtype),
                                  convolution_of(c, ConvolutionPass::gradient_kernel, dtype)};
  if (cudnn::takes_relu(dtype)) passes.push_back(rectified);
  return passes;
}

class CudnnPlans : public ::testing::TestWithParam<std::tuple<GpuFigures, DType>> {
 protected:
  static cudnn::DescribedGpu gpu() { return described(std::get<0>(GetParam())); }
  static DType dtype() { return std::get<1>(GetParam()); }

  /// Checks that every pass of every case has an algorithm that fits into the allowed scratch memory.
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
TEST_P(CudnnPlans, ExistForSmallCnn) { plan(small_cnn_convolutions()); }
TEST_P(CudnnPlans, ExistForXception) { plan(xception_convolutions()); }

/// The zoo's convolutions, without depthwise ones, which use no matrix products; images have 3 channels or 1.
std::vector<ConvolutionCase> dense_convolutions() {
  std::vector<ConvolutionCase> dense;
  for (const auto& model :
       {mini_googlenet_convolutions(), resnet50_convolutions(), small_cnn_convolutions(), xception_convolutions()})
    for (const ConvolutionCase& c : model)
      if (c.kernel[2] == c.x[3]) dense.push_back(c);
  for (const ConvolutionCase& c : std::vector(dense)) {
    if (c.x[3] != 3) continue;
    dense.push_back(c);
    dense.back().x[3] = dense.back().kernel[2] = 1;
  }
  return dense;
}

/// Channels then need no padding. The ranking of the heuristics is not tested (kernels/README.md).
TEST_P(CudnnPlans, AreOfferedOnTensorCoresInBfloat16Alone) {
  const auto by_kind = [](const ConvolutionPlan& plan) { return plan.on_tensor_cores() ? 1.0 : 2.0; };
  for (const ConvolutionCase& c : dense_convolutions())
    for (const Convolution& convolution : passes_of(c, dtype())) {
      SCOPED_TRACE(convolution.text());
      const ConvolutionPlan first(convolution, gpu());
      if (dtype() == DType::f32)
        EXPECT_FALSE(first.on_tensor_cores());
      else
        EXPECT_TRUE(first.on_tensor_cores() || ConvolutionPlan(convolution, gpu(), by_kind).on_tensor_cores());
    }
}

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

std::vector<Convolution> some_convolutions(DType dtype) {
  std::vector<Convolution> all = passes_of(mini_googlenet_convolutions().front(), dtype);
  for (const Convolution& one : passes_of(small_convolutions().back(), dtype)) all.push_back(one);
  return all;
}

TEST_P(CudnnPlans, AreByTheAlgorithmThatTakesTheLeastTime) {
  for (const Convolution& convolution : some_convolutions(dtype())) {
    SCOPED_TRACE(convolution.text());
    std::vector<std::string> offered;
    const auto count = [&](const ConvolutionPlan& plan) {
      offered.push_back(plan.engine());
      return 1.0;
    };
    const std::string among_equals = ConvolutionPlan(convolution, gpu(), count).engine();
    ASSERT_FALSE(offered.empty());
    EXPECT_EQ(among_equals, offered.front());
    EXPECT_EQ(ConvolutionPlan(convolution, gpu()).engine(), offered.front());
    for (const std::string& fastest : {offered.front(), offered[offered.size() / 2], offered.back()}) {
      const auto time_of = [&](const ConvolutionPlan& plan) { return plan.engine() == fastest ? 1.0 : 2.0; };
      const ConvolutionPlan plan(convolution, gpu(), time_of);
      EXPECT_EQ(plan.engine(), fastest);
      EXPECT_LE(plan.workspace_bytes(), std::int64_t{1} << 30);
    }
    const auto none_works = [](const ConvolutionPlan&) { return std::numeric_limits<double>::infinity(); };
    EXPECT_EQ(ConvolutionPlan(convolution, gpu(), none_works).engine(), offered.front());
  }
}

TEST_P(CudnnPlans, AreRestoredFromTheirBytes) {
  for (const Convolution& convolution : some_convolutions(dtype())) {
    SCOPED_TRACE(convolution.text());
    double turn = 0;
    const ConvolutionPlan last(convolution, gpu(), [&](const ConvolutionPlan&) { return -(++turn); });
    const std::vector<std::uint8_t> bytes = last.serialized();
    const std::optional<ConvolutionPlan> restored = ConvolutionPlan::restored(convolution, gpu(), bytes);
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->engine(), last.engine());
    EXPECT_EQ(restored->workspace_bytes(), last.workspace_bytes());
    EXPECT_EQ(restored->on_tensor_cores(), last.on_tensor_cores());
  }
}

TEST_P(CudnnPlans, AreNotRestoredFromOtherBytes) {
  const Convolution convolution = some_convolutions(dtype()).front();
  const std::vector<std::uint8_t> bytes = ConvolutionPlan(convolution, gpu()).serialized();
  EXPECT_FALSE(ConvolutionPlan::restored(convolution, gpu(), {}));
  EXPECT_FALSE(ConvolutionPlan::restored(convolution, gpu(), {'a', '\n'}));
  EXPECT_FALSE(ConvolutionPlan::restored(convolution, gpu(), {bytes.begin(), bytes.end() - 100}));
  for (const GpuFigures& other : gpu_figures()) {
    if (other.compute_capability == std::get<0>(GetParam()).compute_capability) continue;
    EXPECT_FALSE(ConvolutionPlan::restored(convolution, described(other), bytes)) << other.name;
  }
}

TEST_P(CudnnPlans, AreTimedOnce) {
  const Convolution convolution = some_convolutions(dtype()).front();
  const TemporaryFolder folder;
  int timers = 0;
  const auto plan_of = [&](cudnn::PlanCache& cache, const Convolution& of, const char* gpu_text = "this GPU") {
    return cudnn::tuned_plan(cache, gpu_text, of, gpu(),
                             [&] {
                               ++timers;
                               double turn = 0;
                               return [turn](const ConvolutionPlan&) mutable {
                                 return -(++turn);
                               };  // the last plan is the fastest
                             })
        .engine();
  };
  cudnn::PlanCache first(folder.path());
  const std::string engine = plan_of(first, convolution);
  EXPECT_NE(engine, ConvolutionPlan(convolution, gpu()).engine());
  EXPECT_EQ(plan_of(first, convolution), engine);
  cudnn::PlanCache later(folder.path());
  EXPECT_EQ(plan_of(later, convolution), engine);
  EXPECT_EQ(timers, 1);
  plan_of(later, convolution, "another GPU");
  plan_of(later, some_convolutions(dtype()).back());
  EXPECT_EQ(timers, 3);
  EXPECT_EQ(folder.names().size(), 3U);
}

TEST_P(CudnnPlans, ThatCudnnDoesNotTakeAreTimedAnew) {
  const Convolution convolution = some_convolutions(dtype()).front();
  const TemporaryFolder folder;
  const auto plan_of = [&] {
    cudnn::PlanCache cache(folder.path());
    return cudnn::tuned_plan(cache, "this GPU", convolution, gpu(),
                             [] { return [](const ConvolutionPlan&) { return 1.0; }; })
        .engine();
  };
  const std::string engine = plan_of();
  const std::string key = fmt::format("{}; this GPU; {}", cudnn::versions(), convolution.text());
  cudnn::PlanCache(folder.path()).keep(key, {'?', '\n', 1, 2, 3});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(plan_of(), engine);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("cuDNN refuses the saved plan for the"));
  EXPECT_EQ(cudnn::PlanCache(folder.path()).find(key), ConvolutionPlan(convolution, gpu()).serialized());
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
                const ConvolutionPlan plan(convolution, cudnn::DescribedGpu{"{}", 90});
              }),
              HasSubstr("with kernel (3, 3, 4, 8)"));
}

}  // namespace
}  // namespace lockstep::test
