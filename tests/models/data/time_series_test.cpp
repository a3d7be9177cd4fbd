#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/time_series.h>
#include <lockstep/runtime/thread/device_scope.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor steps(std::int64_t n, std::int64_t features = 1) {
  std::vector<float> values(static_cast<std::size_t>(n * features));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from(values, features == 1 ? Shape{n} : Shape{n, features});
}

/// x of each window and its y, if there is one.
std::vector<std::vector<float>> windows_of(const Dataset& set) {
  std::vector<std::vector<float>> windows;
  for (const Example& window : set.epoch()) {
    windows.push_back(window.x().to_vector<float>());
    if (window.y().defined()) windows.back().push_back(window.y().item<float>());
  }
  return windows;
}

/// The first example of Keras' documentation, whose last window Keras 3.15 no longer makes the last.
TEST(TimeSeries, GivesWindowsOfKerasDocumentation) {
  const Dataset set = timeseries_dataset_from_array(steps(100), {}, 10, {.sequence_stride = 3, .sampling_rate = 2});
  const std::vector<std::vector<float>> windows = windows_of(set);
  EXPECT_EQ(windows.size(), 28U);
  EXPECT_EQ(set.size(), 28);
  EXPECT_THAT(windows[0], ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18));
  EXPECT_THAT(windows[1], ElementsAre(3, 5, 7, 9, 11, 13, 15, 17, 19, 21));
  EXPECT_THAT(windows[26], ElementsAre(78, 80, 82, 84, 86, 88, 90, 92, 94, 96));
  EXPECT_THAT(windows[27], ElementsAre(81, 83, 85, 87, 89, 91, 93, 95, 97, 99));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(timeseries_dataset_from_array(steps(9), {}, 2, {.sequence_stride = huge, .start_index = 1}).size(), 1);
}

TEST(TimeSeries, PutsTheTargetOfTheFirstStepBesideAWindow) {
  const Tensor data = steps(6);
  EXPECT_THAT(windows_of(timeseries_dataset_from_array(data, data.slice_view(0, 2, 6), 2)),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(1, 2, 3), ElementsAre(2, 3, 4), ElementsAre(3, 4, 5)));
  EXPECT_THAT(windows_of(timeseries_dataset_from_array(data, data, 2, {.start_index = 2, .end_index = 5})),
              ElementsAre(ElementsAre(2, 3, 2), ElementsAre(3, 4, 3)));
}

TEST(TimeSeries, GivesViewsOfSeveralFeatures) {
  const Tensor data = steps(5, 3);
  const Example window = timeseries_dataset_from_array(data, data, 2).skip(1).epoch().next().value();
  EXPECT_EQ(window.x().shape(), (Shape{2, 3}));
  EXPECT_EQ(window.y().shape(), Shape{3});
  EXPECT_EQ(window.x().data<float>(), data.data<float>() + 3);
  const Dataset sparse = timeseries_dataset_from_array(data, {}, 2, {.sampling_rate = 3});
  EXPECT_THAT(windows_of(sparse), ElementsAre(ElementsAre(0, 1, 2, 9, 10, 11), ElementsAre(3, 4, 5, 12, 13, 14)));
}

TEST(TimeSeries, MayHaveNoWindows) {
  EXPECT_EQ(timeseries_dataset_from_array(steps(3), {}, 4).size(), 0);
  EXPECT_EQ(timeseries_dataset_from_array(steps(3), {}, 1L << 62, {.sampling_rate = 4}).size(), 0);
  EXPECT_EQ(timeseries_dataset_from_array(steps(3), {}, 1, {.start_index = 3}).size(), 0);
}

TEST(TimeSeries, ChecksItsArguments) {
  const auto refused = [](const Tensor& data, std::int64_t length, const TimeSeriesOptions& options,
                          const std::string& complaint) {
    EXPECT_THAT([&] { (void)timeseries_dataset_from_array(data, {}, length, options); },
                ThrowsMessage<InvalidArgument>(HasSubstr(complaint)));
  };
  refused({}, 1, {}, "the data of a time series must be dense");
  refused(Tensor::scalar(1.0F), 1, {}, "have an axis of steps");
  refused(steps(4), 0, {}, "must be at least 1, got 0, 1 and 1");
  refused(steps(4), 1, {.sequence_stride = 0}, "got 1, 0 and 1");
  refused(steps(4), 1, {.sampling_rate = -1}, "got 1, 1 and -1");
  refused(steps(4), 1, {.start_index = -1}, "in a series of 4 steps, got -1 and 4");
  refused(steps(4), 1, {.start_index = 3, .end_index = 2}, "got 3 and 2");
  refused(steps(4), 1, {.end_index = 5}, "got 0 and 5");
  EXPECT_THAT([] { (void)timeseries_dataset_from_array(steps(4), Tensor::scalar(1.0F), 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("the targets of a time series")));
}

TEST(TimeSeries, StaysInHostMemoryInADeviceScopeOfAGpu) {
  const Tensor data = steps(5);
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(windows_of(timeseries_dataset_from_array(data, {}, 2, {.sampling_rate = 2})),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(2, 4)));
}

}  // namespace
}  // namespace lockstep
