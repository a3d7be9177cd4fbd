#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::simulation {
namespace {

constexpr AllReduce all_algorithms[] = {AllReduce::ring, AllReduce::tree, AllReduce::hierarchical, AllReduce::exchange};
constexpr double us = 1e-6;
constexpr double megabyte = 1e6;

/// Links of 1 us and 100 MB/s inside a node, of 10 us and 10 MB/s between nodes.
Machine machine(int devices_per_node) {
  Machine result;
  result.devices_per_node = devices_per_node;
  result.inside = {1 * us, 100 * megabyte};
  result.network = {10 * us, 10 * megabyte};
  return result;
}

void expect_cost(const Cost& cost, double latency_s, double bandwidth_s) {
  EXPECT_DOUBLE_EQ(cost.latency_s, latency_s);
  EXPECT_DOUBLE_EQ(cost.bandwidth_s, bandwidth_s);
}

TEST(AllReduceCost, IsZeroForOneDevice) {
  Machine slow_to_start = machine(4);
  slow_to_start.start_s = 1;
  for (const AllReduce algorithm : all_algorithms)
    expect_cost(all_reduce_cost(algorithm, slow_to_start, 1, megabyte), 0, 0);
}

TEST(AllReduceCost, OfARing) {
  // 2 x 3 hops; 2 x 3/4 of 1 MB at 10 MB/s.
  expect_cost(all_reduce_cost(AllReduce::ring, machine(1), 4, megabyte), 60 * us, 0.15);
  // Inside a node: the same at 1 us and 100 MB/s.
  expect_cost(all_reduce_cost(AllReduce::ring, machine(4), 4, megabyte), 6 * us, 0.015);
  // 2 nodes of 4: of 14 hops 2 lie between nodes; 2 x 7/8 of 1 MB at the slower link's 10 MB/s.
  expect_cost(all_reduce_cost(AllReduce::ring, machine(4), 8, megabyte), 32 * us, 0.175);
}

TEST(AllReduceCost, OfATree) {
  // Height 3; every inner node sends 2 MB at 10 MB/s.
  expect_cost(all_reduce_cost(AllReduce::tree, machine(1), 8, megabyte), 60 * us, 0.2);
  // Two nodes exchange half of the bytes in each tree, both ways.
  expect_cost(all_reduce_cost(AllReduce::tree, machine(1), 2, megabyte), 20 * us, 0.1);
  // Three: 1.5 MB.
  expect_cost(all_reduce_cost(AllReduce::tree, machine(1), 3, megabyte), 40 * us, 0.15);
  // Chains of 4 inside: 2 x 3 hops of 1 us more; their 2 MB at 100 MB/s are hidden behind the network's.
  expect_cost(all_reduce_cost(AllReduce::tree, machine(4), 32, megabyte), 66 * us, 0.2);
  expect_cost(all_reduce_cost(AllReduce::tree, machine(4), 4, megabyte), 6 * us, 0.02);
}

TEST(AllReduceCost, OfTwoLevels) {
  // Inside 6 us and 15 ms; between 3 nodes 2 x 2 hops, 2 x 2/3 of 1 MB at 10 MB/s.
  const Cost cost = all_reduce_cost(AllReduce::hierarchical, machine(4), 12, megabyte);
  EXPECT_DOUBLE_EQ(cost.latency_s, 46 * us);
  EXPECT_DOUBLE_EQ(cost.bandwidth_s, 0.015 + 4.0 / 3 * 0.1);
}

TEST(AllReduceCost, OfAnExchange) {
  Machine with_messages = machine(1);
  with_messages.message_s = 1 * us;
  // 2 latencies and 2 x 7 messages; the bytes of a ring.
  expect_cost(all_reduce_cost(AllReduce::exchange, with_messages, 8, megabyte), 34 * us, 0.175);
}

TEST(AllReduceCost, OfOneNodeIsTheRingsInTwoLevels) {
  for (const AllReduce algorithm : {AllReduce::hierarchical, AllReduce::exchange})
    for (const int devices : {2, 3, 8}) {
      const Cost ring = all_reduce_cost(AllReduce::ring, machine(8), devices, megabyte);
      expect_cost(all_reduce_cost(algorithm, machine(8), devices, megabyte), ring.latency_s, ring.bandwidth_s);
    }
}

TEST(AllReduceCost, StartsOnceWhateverTheAlgorithm) {
  Machine starting = machine(4);
  starting.start_s = 5 * us;
  for (const AllReduce algorithm : all_algorithms)
    EXPECT_DOUBLE_EQ(all_reduce_cost(algorithm, starting, 8, megabyte).latency_s,
                     all_reduce_cost(algorithm, machine(4), 8, megabyte).latency_s + 5 * us);
}

TEST(AllReduceCost, TendsToTwiceTheBytesThroughEveryLink) {
  const double limit = 2 * megabyte / (10 * megabyte);
  for (const AllReduce algorithm : all_algorithms) {
    const double seconds = all_reduce_cost(algorithm, machine(1), 16384, megabyte).bandwidth_s;
    EXPECT_LE(seconds, limit) << name(algorithm);
    EXPECT_GE(seconds, limit * (1 - 1.0 / 16383)) << name(algorithm);
  }
}

TEST(AllReduceCost, HasALatencyThatGrowsLinearlyOnRingsAndLogarithmicallyInTrees) {
  for (int devices = 2; devices <= 16384; devices *= 2) {
    const auto latency = [](AllReduce algorithm, int count) {
      return all_reduce_cost(algorithm, machine(1), count, 0).latency_s;
    };
    EXPECT_NEAR(latency(AllReduce::ring, 2 * devices) - latency(AllReduce::ring, devices), 20 * us * devices, 1e-12);
    EXPECT_NEAR(latency(AllReduce::tree, 2 * devices) - latency(AllReduce::tree, devices), 20 * us, 1e-12);
    EXPECT_DOUBLE_EQ(latency(AllReduce::exchange, 2 * devices), 20 * us);
  }
}

TEST(AllReduceCost, GrowsWithBytesAndDevicesAndFallsWithBandwidth) {
  Machine faster = machine(8);
  faster.inside.bytes_per_s *= 2;
  faster.network.bytes_per_s *= 2;
  for (const AllReduce algorithm : all_algorithms)
    for (int devices = 2; devices <= 4096; devices *= 2) {
      const double seconds = all_reduce_cost(algorithm, machine(8), devices, megabyte).total_s();
      EXPECT_LT(seconds, all_reduce_cost(algorithm, machine(8), devices, 2 * megabyte).total_s());
      EXPECT_LE(seconds, all_reduce_cost(algorithm, machine(8), 2 * devices, megabyte).total_s());
      EXPECT_DOUBLE_EQ(all_reduce_cost(algorithm, faster, devices, megabyte).bandwidth_s,
                       all_reduce_cost(algorithm, machine(8), devices, megabyte).bandwidth_s / 2);
    }
}

TEST(AllReduceCost, RefusesWhatCannotBe) {
  const auto cost = [](const Machine& machine, int devices, double bytes) {
    return all_reduce_cost(AllReduce::ring, machine, devices, bytes);
  };
  EXPECT_ERROR(InvalidArgument, "devices: at least 1, got 0", cost(machine(1), 0, 1));
  EXPECT_ERROR(InvalidArgument, "devices: 12 do not fill nodes of 8", cost(machine(8), 12, 1));
  EXPECT_ERROR(InvalidArgument, "bytes: must not be negative, got -1", cost(machine(1), 2, -1));

  const auto refused = [&](const char* text, auto change) {
    Machine wrong = machine(8);
    change(wrong);
    EXPECT_ERROR(InvalidArgument, text, cost(wrong, 8, 1));
  };
  refused("devices_per_node: at least 1, got 0", [](Machine& m) { m.devices_per_node = 0; });
  refused("inside: latency must not be negative", [](Machine& m) { m.inside.latency_s = -1; });
  refused("inside: bandwidth must be positive", [](Machine& m) { m.inside.bytes_per_s = 0; });
  refused("network: latency must not be negative", [](Machine& m) { m.network.latency_s = NAN; });
  refused("network: bandwidth must be positive",
          [](Machine& m) { m.network.bytes_per_s = std::numeric_limits<double>::infinity(); });
  refused("start: must not be negative", [](Machine& m) { m.start_s = -1; });
  refused("message: must not be negative", [](Machine& m) { m.message_s = -1; });
  refused("slowdown: a share from 0 to below 1, got 1", [](Machine& m) { m.slowdown = 1; });
}

}  // namespace
}  // namespace lockstep::simulation
