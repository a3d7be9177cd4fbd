#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/recurrence/whole_recurrence.h>
#include <lockstep/kernels/reduction/reduce_op.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/uploads.h>
#include <lockstep/runtime/trace/trace.h>

namespace lockstep {
namespace {

TEST(Launch, IsASpanInTraces) {
  const TraceRecording recording;
  launch(kernels::Fill{Tensor::empty({3}), 1});
  const std::vector<TraceEvent> events = recording.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().name, "fill");
}

// Arguments that ops on pretended GPUs must not pass to a kernel.

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

class CheckedOps : public testing::Test {
 protected:
  void SetUp() override { on_gpu_.emplace(context_on(gpu_)); }

  static float first_after_reduce(const float* from, const Tensor& to, std::int64_t count) {
    float* const out = to.data<float>();
    launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{std::span(&from, 1), std::span(&out, 1), count}});
    return to.to_vector<float>().front();
  }

  LogicalDevice gpu_{DeviceKind::gpu, 0};
  LogicalDevice other_gpu_{DeviceKind::gpu, 1};
  std::optional<ContextScope> on_gpu_{};
};

TEST_F(CheckedOps, ATensorOfAnotherGpu) {
  const Tensor x = Tensor::full({100}, 1);
  const Tensor there = Tensor::empty({100}, DType::f32, other_gpu_);
  EXPECT_THAT(error_of<BrokenInvariant>([&] {
                launch(kernels::Affine{x, 1, 0, there});
              }),
              AllOf(HasSubstr("affine on GPU:0 is given 400 bytes at 0x"),
                    HasSubstr(", in a block of 512 bytes of GPU:1, not its own")));
}

TEST_F(CheckedOps, ATensorOfTheHost) {
  const Tensor here = Tensor::empty({100}, DType::f32, LogicalDevice{});
  EXPECT_THAT(error_of<BrokenInvariant>([&] {
                launch(kernels::Fill{here, 1});
              }),
              HasSubstr("fill on GPU:0 is given 400 bytes at 0x"));
}

TEST_F(CheckedOps, FlatMemoryThatIsTooSmall) {
  const Tensor x = Tensor::full({128}, 1);
  EXPECT_THAT(error_of<BrokenInvariant>([&] {
                launch(kernels::SquaredNorm{x.data<float>(), 129});
              }),
              AllOf(HasSubstr("squared_norm on GPU:0 is given 516 bytes"), HasSubstr("of which 4 are behind its end")));
  EXPECT_THAT(error_of<BrokenInvariant>([&] {
                launch(kernels::SquaredNorm{x.data<float>() + 1, 128});
              }),
              HasSubstr("of which 4 are behind its end"));
  EXPECT_EQ(launch(kernels::SquaredNorm{x.data<float>() + 1, 127}), 127);
}

TEST_F(CheckedOps, FlatMemoryThatIsNotAligned) {
  const Tensor x = Tensor::full({128}, 1);
  const auto* const odd = reinterpret_cast<const float*>(static_cast<const std::byte*>(x.raw_data()) + 2);
  EXPECT_THAT(error_of<BrokenInvariant>([&] { first_after_reduce(odd, Tensor::empty({100}), 100); }),
              AllOf(HasSubstr("reduce on GPU:0"), HasSubstr("not aligned to 4")));
}

TEST_F(CheckedOps, MemoryThatHasBeenGivenBack) {
  const Tensor y = Tensor::empty({100});
  Tensor x = Tensor::full({100}, 1);
  const float* const from = x.data<float>();
  EXPECT_EQ(first_after_reduce(from, y, 100), 1);
  x = {};
  EXPECT_THAT(error_of<BrokenInvariant>([&] { first_after_reduce(from, y, 100); }),
              HasSubstr("where no block is live"));
}

TEST_F(CheckedOps, AViewIsAsLongAsItsElementsReach) {
  const Tensor x = Tensor::full({4, 32}, 1);
  const Tensor last = x.slice_view(1, 31, 32);
  EXPECT_NO_THROW(launch(kernels::Convert{last, Tensor::empty({4, 1})}));
  EXPECT_NO_THROW(launch(kernels::Binary{BinaryOp::add, last.broadcast_view({4, 32}), x, Tensor::empty({4, 32})}));
}

TEST_F(CheckedOps, ABatchBeforeItHasArrived) {
  const std::vector<float> values(100, 3);
  const Tensor batch = Tensor::empty({100});
  const Upload upload{batch.raw_data(), values.data(), values.size() * sizeof(float)};
  const auto arrived = uploads(gpu_).begin(std::span(&upload, 1));
  EXPECT_THAT(error_of<BrokenInvariant>([&] { batch * 2.0; }),
              HasSubstr("in its compute stream, which waits for no event after the use by its input stream"));
  Stream{gpu_}.wait(*arrived);
  EXPECT_EQ((batch * 2.0).to_vector<float>(), std::vector<float>(100, 6));
}

TEST_F(CheckedOps, ARecurrentLayersWeightsOfAnotherGpu) {
  WholeRecurrence& layers = *whole_recurrence();
  const RecurrentLayer layer{.cell = RecurrentCell::lstm, .n = 2, .time = 3, .features = 4, .units = 5};
  ASSERT_TRUE(layers.runs(layer));
  RecurrentWeights weights{Tensor::zeros({4, 20}), Tensor::zeros({5, 20}), Tensor::zeros({20})};
  const Tensor x = Tensor::zeros({3, 2, 4});
  const Tensor y = Tensor::empty({3, 2, 5});
  EXPECT_NO_THROW(layers.run(layer, x, weights, false, y));
  weights.bias = to_device(weights.bias, other_gpu_);
  EXPECT_THAT(error_of<BrokenInvariant>([&] { layers.run(layer, x, weights, false, y); }),
              AllOf(HasSubstr("a recurrent layer on GPU:0 is given 80 bytes"), HasSubstr("of GPU:1, not its own")));
}

}  // namespace
}  // namespace lockstep
