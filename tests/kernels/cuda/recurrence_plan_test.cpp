// Calls of cuDNN's recurrent layers that work without a GPU.

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>

#include <lockstep/kernels/cuda/recurrence_plan.h>
#include <lockstep/kernels/recurrence/cudnn_recurrence.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::test {
namespace {

using cudnn::RecurrencePlan;
using ::testing::HasSubstr;

constexpr std::int64_t longest = RecurrencePlan::longest;

TEST(RecurrencePlan, IsOfALayerThatCudnnAccepts) {
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru})
    for (const RecurrentLayer& layer :
         {RecurrentLayer{cell, 1, 1, 1, 1}, RecurrentLayer{cell, 32, 100, 64, 128}, {cell, 2, longest, 3, 5}})
      EXPECT_NO_THROW(const RecurrencePlan plan(layer));
}

TEST(RecurrencePlan, NamesCallAndLayerThatCudnnRefuses) {
  EXPECT_THAT(error_of<DeviceError>([] {
                const RecurrencePlan plan({RecurrentCell::lstm, 2, longest + 1, 3, 5});
              }),
              HasSubstr("cudnnSetRNNDataDescriptor failed on CPU:0 in the lstm of x (2, 65536, 3) with 5 units"));
}

// cuDNN accepts the description, and then fails because there is no GPU.
TEST(RecurrencePlan, NamesCallAndLayerWhenThereIsNoGpu) {
  RecurrencePlan plan({RecurrentCell::gru, 2, 7, 3, 5});
  EXPECT_THAT(error_of<DeviceError>([&] { plan.lay_out(nullptr); }),
              HasSubstr("cudnnSetDropoutDescriptor failed on CPU:0 in the gru of x (2, 7, 3) with 5 units"));
}

TEST(CudnnRecurrence, LeavesToTheOpsWhatCudnnDoesNotTake) {
  const WholeRecurrence& recurrence = cudnn_recurrence();
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    EXPECT_TRUE(recurrence.runs({cell, 1, 1, 1, 1}));
    EXPECT_TRUE(recurrence.runs({cell, 32, longest, 64, 128}));
    EXPECT_FALSE(recurrence.runs({cell, 0, 10, 64, 128}));
    EXPECT_FALSE(recurrence.runs({cell, 32, longest + 1, 64, 128}));
    EXPECT_FALSE(recurrence.runs({cell, 1, 1, 1, std::numeric_limits<int>::max()}));
  }
}

}  // namespace
}  // namespace lockstep::test
