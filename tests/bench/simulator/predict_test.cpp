#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::simulation {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

/// One device per node; 2 devices on a ring need 1 s per MiB.
Machine machine() {
  Machine result;
  result.network = {0, static_cast<double>(mib)};
  return result;
}

/// Forward 2 s, backward 1 + 2 + 3 s with gradients of 2, 4 and 1 MiB, update 0.5 s, overhead 0.25 s.
MeasuredStep measured_step() {
  MeasuredStep step;
  step.forward_s = 2;
  step.backward = {{"c", 1, 2 * mib}, {"b", 2, 4 * mib}, {"a", 3, mib}};
  step.update_s = 0.5;
  step.overhead_s = 0.25;
  return step;
}

std::vector<std::size_t> last_layers(const MeasuredStep& step, std::int64_t bucket_bytes) {
  std::vector<std::size_t> layers;
  for (const Bucket& bucket : buckets_of(step, bucket_bytes)) layers.push_back(bucket.last_layer);
  return layers;
}

TEST(Buckets, CloseOnceTheirBytesAreThere) {
  const MeasuredStep step = measured_step();
  EXPECT_THAT(last_layers(step, 1), testing::ElementsAre(0, 1, 2));
  // The first bucket is closed at 1 MiB whatever the size of the others, as in the reducer.
  EXPECT_THAT(last_layers(step, 5 * mib), testing::ElementsAre(0, 2));
  EXPECT_THAT(last_layers(step, 4 * mib), testing::ElementsAre(0, 1, 2));
}

TEST(Buckets, HoldEveryGradientOnce) {
  MeasuredStep step = measured_step();
  step.backward.insert(step.backward.begin() + 1, {"without parameters", 1, 0});
  step.backward.push_back({"one gradient in half precision", 1, 2});
  for (const std::int64_t size : bucket_sizes(step)) {
    std::int64_t bytes = 0;
    for (const Bucket& bucket : buckets_of(step, size)) bytes += bucket.bytes;
    EXPECT_EQ(bytes, 7 * mib + 2);
    EXPECT_EQ(buckets_of(step, size).back().last_layer, 4u);
  }
  step.backward = {{"without parameters", 1, 0}};
  EXPECT_TRUE(buckets_of(step, mib).empty());
}

TEST(Step, OverlapsBackwardWithOneStreamOfAllReduces) {
  // Computed by hand, from the start of backward: c is final at 1 s and summed from 1 to 3; b is final at 3 and summed
  // from 3 to 7; a is final at 6, waits for b and is summed from 7 to 8. Backward ends at 6: 2 s of 7 are exposed.
  const Prediction each = predict(measured_step(), machine(), 2, AllReduce::ring, 1);
  EXPECT_EQ(each.buckets, 3u);
  EXPECT_DOUBLE_EQ(each.communication.total_s(), 7);
  EXPECT_DOUBLE_EQ(each.exposed_s, 2);
  EXPECT_DOUBLE_EQ(each.step_s, 2 + 8 + 0.5 + 0.25);
  EXPECT_DOUBLE_EQ(each.hidden_share, 5.0 / 7);
  EXPECT_DOUBLE_EQ(each.efficiency, 8.75 / 10.75);

  // b and a share a bucket: c is summed from 1 to 3, then both from 6 to 11.
  EXPECT_DOUBLE_EQ(predict(measured_step(), machine(), 2, AllReduce::ring, 5 * mib).exposed_s, 5);
}

TEST(Step, IsSlowerWhileTheLinksAreBusyWhereTheMachineIs) {
  Machine shares = machine();
  shares.slowdown = 0.5;
  // c is final at 1 and summed until 3; b does half of its 2 s by then and the rest by 4, is summed until 8; a does 2
  // of its 3 s by 8, and ends at 9; it is summed from 9 to 10.
  const Prediction prediction = predict(measured_step(), shares, 2, AllReduce::ring, 1);
  EXPECT_DOUBLE_EQ(prediction.exposed_s, 4);
  EXPECT_DOUBLE_EQ(prediction.hidden_share, 3.0 / 7);

  // b begins and ends while c is summed, from 1 to 2; a does 0.5 of its 3 s by 3, ends at 5.5 and is summed until 6.5.
  MeasuredStep step = measured_step();
  step.backward[1] = {"b", 0.5, 0};
  EXPECT_DOUBLE_EQ(predict(step, shares, 2, AllReduce::ring, 1).exposed_s, 2);
}

TEST(Step, OfOneDeviceIsTheMeasuredOne) {
  EXPECT_DOUBLE_EQ(step_on_one_device_s(measured_step()), 8.75);
  const Prediction prediction = predict(measured_step(), machine(), 1, AllReduce::tree, mib);
  EXPECT_EQ(prediction.step_s, 8.75);
  EXPECT_EQ(prediction.efficiency, 1);
  EXPECT_EQ(prediction.hidden_share, 1);
}

TEST(Step, IsNeverShorterOnMoreDevicesOrSlowerLinks) {
  for (const AllReduce algorithm : {AllReduce::ring, AllReduce::tree, AllReduce::hierarchical, AllReduce::exchange}) {
    double before = 0;
    for (int devices = 1; devices <= 16384; devices *= 2) {
      const Prediction prediction = predict(measured_step(), machine(), devices, algorithm, mib);
      EXPECT_GE(prediction.step_s, before);
      EXPECT_LE(prediction.efficiency, 1);
      EXPECT_GE(prediction.hidden_share, 0);
      EXPECT_LE(prediction.hidden_share, 1);
      before = prediction.step_s;

      Machine slower = machine();
      slower.network.bytes_per_s /= 2;
      slower.network.latency_s = 1e-3;
      EXPECT_GE(predict(measured_step(), slower, devices, algorithm, mib).step_s, prediction.step_s);
    }
  }
}

TEST(Best, IsNoWorseThanAnyThatItMayChoose) {
  Machine nodes = machine();
  nodes.devices_per_node = 4;
  nodes.inside = {1e-3, 8.0 * mib};
  nodes.network.latency_s = 1e-2;
  for (const int devices : {2, 4, 16, 256}) {
    const Prediction best = predict_best(measured_step(), nodes, devices);
    for (const AllReduce algorithm : {AllReduce::ring, AllReduce::tree, AllReduce::hierarchical})
      for (const std::int64_t size : bucket_sizes(measured_step()))
        EXPECT_LE(best.step_s, predict(measured_step(), nodes, devices, algorithm, size).step_s);
  }
}

TEST(Best, KeepsWhatIsFixed) {
  const Prediction best = predict_best(measured_step(), machine(), 8, {AllReduce::exchange, 3 * mib});
  EXPECT_EQ(best.algorithm, AllReduce::exchange);
  EXPECT_EQ(best.bucket_bytes, 3 * mib);
  EXPECT_NE(predict_best(measured_step(), machine(), 8).algorithm, AllReduce::exchange);
}

TEST(Best, TakesFewerBucketsWhereEachCostsMuch) {
  Machine slow_to_start = machine();
  slow_to_start.start_s = 100;
  EXPECT_LT(predict_best(measured_step(), slow_to_start, 2).buckets,
            predict_best(measured_step(), machine(), 2).buckets);
}

TEST(BucketSizes, DoubleUpToAllGradients) {
  EXPECT_THAT(bucket_sizes(measured_step()), testing::ElementsAre(mib / 4, mib / 2, mib, 2 * mib, 4 * mib, 8 * mib));
}

TEST(Scaling, BreaksAtTheFirstBelowTheThreshold) {
  Machine slow = machine();
  slow.network = {1e-3, 1e12};  // no time for bytes; the latency of a ring grows with the devices
  std::vector<Prediction> predictions;
  for (const int devices : {8, 64, 512, 4096, 16384})
    predictions.push_back(predict(measured_step(), slow, devices, AllReduce::ring, 8 * mib));
  const auto end = where_scaling_breaks(predictions);
  ASSERT_TRUE(end);
  // 2 x 511 ms are 10.5% of 9.772 s; 2 x 63 ms are 1.4%.
  EXPECT_EQ(end->prediction.devices, 512);
  EXPECT_EQ(end->bound, Bound::latency);
  EXPECT_EQ(where_scaling_breaks(predictions, 0.4)->prediction.devices, 16384);
  EXPECT_FALSE(where_scaling_breaks(predictions, 0.01));
}

TEST(Scaling, IsBoundByBandwidthWhereBytesTakeLonger) {
  const std::vector predictions{predict(measured_step(), machine(), 2, AllReduce::ring, mib)};
  EXPECT_EQ(where_scaling_breaks(predictions)->bound, Bound::bandwidth);
}

TEST(Step, RefusesWhatCannotBe) {
  const auto refused = [](const char* text, auto change) {
    MeasuredStep wrong = measured_step();
    change(wrong);
    EXPECT_ERROR(InvalidArgument, text, predict(wrong, machine(), 2, AllReduce::ring, 1));
  };
  refused("forward: must not be negative, got -1 s", [](MeasuredStep& s) { s.forward_s = -1; });
  refused("update: must not be negative", [](MeasuredStep& s) { s.update_s = -1; });
  refused("overhead: must not be negative", [](MeasuredStep& s) { s.overhead_s = -1; });
  refused("b: must not be negative", [](MeasuredStep& s) { s.backward[1].seconds = -1; });
  refused("b: gradient bytes must not be negative", [](MeasuredStep& s) { s.backward[1].gradient_bytes = -1; });
  refused("the step takes no time", [](MeasuredStep& s) { s = {}; });
  EXPECT_ERROR(InvalidArgument, "bucket: at least 1 byte, got 0",
               predict(measured_step(), machine(), 2, AllReduce::ring, 0));
}

}  // namespace
}  // namespace lockstep::simulation
