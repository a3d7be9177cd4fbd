#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/registry.h>

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<LogicalDevice> parse(const std::vector<std::string>& names) { return parse_devices(names); }

TEST(Registry, DescribesTheCpuFirst) {
  const std::vector<Device> devices = physical_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].kind, DeviceKind::cpu);
  EXPECT_FALSE(devices[0].model.empty());
  EXPECT_EQ(devices[0].cores, available_cores());
  EXPECT_GT(free_memory(devices[0]), 0U);
  EXPECT_GT(devices[0].memory_total, free_memory(devices[0]));
}

TEST(Registry, SaysWhyThereIsNoGpuExactlyWhenThereIsNone) {
  const std::vector<Device> devices = physical_devices();
  const bool any = std::any_of(devices.begin(), devices.end(), [](auto& d) { return d.kind == DeviceKind::gpu; });
  EXPECT_EQ(why_no_gpu().empty(), any);
}

TEST(Registry, LogicalCpusShareTheCores) {
  for (const int count : {1, 2, 3, 5, 8, max_logical_cpus}) {
    const std::vector<LogicalDevice> devices = logical_cpus(count);
    ASSERT_EQ(devices.size(), static_cast<std::size_t>(count));
    for (int index = 0; index < count; ++index) {
      EXPECT_EQ(devices[index], (LogicalDevice{DeviceKind::cpu, index}));
      EXPECT_EQ(devices[index].cores, std::max(1, available_cores() / count));
    }
  }
}

TEST(Registry, RejectsCountsOfLogicalCpusThatMakeNoSense) {
  for (const int count : {0, -1, max_logical_cpus + 1})
    EXPECT_THAT([&] { (void)logical_cpus(count); }, ThrowsMessage<InvalidArgument>(HasSubstr(std::to_string(count))));
}

TEST(Registry, LogicalCpusMayHaveUnequalShares) {
  const std::vector<LogicalDevice> devices = logical_cpus_with_cores(std::vector{1, 2, 1});
  ASSERT_EQ(devices.size(), 3U);
  for (int index = 0; index < 3; ++index) {
    EXPECT_EQ(devices[index], (LogicalDevice{DeviceKind::cpu, index}));
    EXPECT_EQ(devices[index].cores, index == 1 ? 2 : 1);
  }
  EXPECT_THAT(
      [] {
        (void)logical_cpus_with_cores(std::vector{2, 0});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("CPU:1 needs at least one core, got 0")));
  EXPECT_THROW((void)logical_cpus_with_cores(std::vector<int>{}), InvalidArgument);
}

TEST(Registry, ParsesEverySpelling) {
  for (const char* text : {"CPU:3", "cpu:3", "/cpu:3", "/CPU:3", "/device:CPU:3", "/device:cpu:3", "Cpu:3"}) {
    const std::vector<LogicalDevice> devices = parse({text});
    ASSERT_EQ(devices.size(), 1U) << text;
    EXPECT_EQ(devices[0].name(), "CPU:3") << text;
  }
}

TEST(Registry, KeepsTheOrderOfTheListAndSharesTheCores) {
  const std::vector<LogicalDevice> devices = parse({"CPU:2", "CPU:0"});
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name(), "CPU:2");
  EXPECT_EQ(devices[1].name(), "CPU:0");
  for (const LogicalDevice& device : devices) EXPECT_EQ(device.cores, std::max(1, available_cores() / 2));
}

TEST(Registry, ParsesAMemoryLimit) {
  const std::vector<LogicalDevice> devices = parse({"CPU:1@64MiB", "/cpu:2@3KiB", "CPU:3@1000", "CPU:4@2GiB", "CPU:5"});
  const std::size_t expected[] = {std::size_t{64} << 20, 3072, 1000, std::size_t{2} << 30, 0};
  for (std::size_t i = 0; i < devices.size(); ++i) EXPECT_EQ(devices[i].memory_limit, expected[i]);
  EXPECT_EQ(devices[0].name(), "CPU:1");
  for (const char* text : {"CPU:1@", "CPU:1@0", "CPU:1@MiB", "CPU:1@-5", "CPU:1@5MB", "CPU:1@5 MiB",
                           "CPU:1@99999999999999999999", "CPU:1@99999999999GiB"})
    EXPECT_THAT([&] { parse({text}); }, ThrowsMessage<InvalidArgument>(HasSubstr("has no memory limit after its @")))
        << text;
}

TEST(Registry, RejectsTextThatNamesNoDevice) {
  for (const char* text : {"", "CPU", "CPU:", "CPU:x", "CPU:-1", "CPU:1x", "CPU:1.5", "CPU: 1", "TPU:0", "0", "/",
                           "CPU:99999999999", "//CPU:0", "/job:worker/CPU:0"})
    EXPECT_THAT([&] { parse({text}); },
                ThrowsMessage<InvalidArgument>(HasSubstr(std::string("'") + text + "' names no device")))
        << text;
}

TEST(Registry, RejectsAnEmptyList) { EXPECT_THROW(parse({}), InvalidArgument); }

TEST(Registry, RejectsADeviceNamedTwiceInAnySpelling) {
  EXPECT_THAT(
      [] {
        parse({"CPU:1", "CPU:0", "/cpu:1"});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("CPU:1 is named twice")));
}

TEST(Registry, RejectsDevicesThatDoNotExist) {
  EXPECT_THAT([] { parse({"CPU:64"}); }, ThrowsMessage<InvalidArgument>(HasSubstr("CPU:64 does not exist")));
  EXPECT_THAT([] { parse({"GPU:4096"}); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("GPU:4096 does not exist"), HasSubstr(why_no_gpu()))));
}

}  // namespace
}  // namespace lockstep
