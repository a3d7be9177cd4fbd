#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/strategy/comm/nccl/nccl_host.h>

namespace lockstep::test {
namespace {

constexpr const char* bridge = "0x060400";
constexpr const char* gpu = "0x030200";

/// A device's configuration space with an irrelevant first capability and, at 0x148, access control set to `control`.
std::string configuration(char control) {
  std::string bytes(4096, '\0');
  bytes.replace(0x100, 4, std::string("\x01\x00\x81\x14", 4));
  bytes.replace(0x148, 4, std::string("\x0d\x00\x01\x00", 4));
  bytes[0x14e] = control;
  return bytes;
}

class PcieDevices : public testing::Test {
 protected:
  void add(const std::string& name, const char* kind, const std::string& configuration) const {
    const std::filesystem::path device = folder_.path() / name;
    std::filesystem::create_directory(device);
    std::ofstream(device / "class") << kind << '\n';
    std::ofstream(device / "config", std::ios::binary) << configuration;
  }

  const TemporaryFolder folder_;
};

TEST_F(PcieDevices, RedirectCopiesWhereABridgeHasThatSet) {
  EXPECT_FALSE(redirects_copies(folder_.path() / "none"));
  add("0000:00:01.0", gpu, configuration(0x1d));
  add("0000:00:02.0", bridge, configuration(0x01));
  EXPECT_FALSE(redirects_copies(folder_.path())) << "no bridge redirects";
  add("0000:00:03.0", bridge, configuration(0x1d));
  EXPECT_TRUE(redirects_copies(folder_.path()));
}

TEST_F(PcieDevices, MayBeUnreadableOrDamaged) {
  add("0000:00:01.0", bridge, configuration(0x1d).substr(0, 64));  // the part that users other than root can read
  std::string loop = configuration(0x1d);
  loop.replace(0x148, 4, std::string("\x01\x00\x81\x14", 4));
  add("0000:00:02.0", bridge, loop);
  std::string outside = configuration(0x1d);
  outside.replace(0x102, 2, "\xf1\xff");
  add("0000:00:03.0", bridge, outside);
  EXPECT_FALSE(redirects_copies(folder_.path()));
}

TEST(NcclHost, HasRoomForItsGpusOrIsAnObstacle) {
  const NcclHost host{.shared_memory_free = std::uint64_t{128} << 20};
  EXPECT_THAT(find_obstacles(host, 2), testing::IsEmpty());
  const std::vector<NcclObstacle> found = find_obstacles(host, 3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "/dev/shm");
  EXPECT_THAT(found[0].remedy, testing::HasSubstr("192 MiB"));
}

}  // namespace
}  // namespace lockstep::test
