#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/cuda/plan_cache.h>

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;
using cudnn::PlanCache;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class Plans : public ::testing::Test {
 protected:
  Plans() { ::testing::internal::CaptureStderr(); }
  ~Plans() override { ::testing::internal::GetCapturedStderr(); }
  /// Text logged since the last call.
  static std::string take_log() {
    std::string log = ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    return log;
  }
  PlanCache cache() const { return PlanCache(folder_.path() / "plans"); }
  /// The plan that another program would find.
  std::optional<PlanCache::Bytes> found(const std::string& key = "key") const { return cache().find(key); }

  TemporaryFolder folder_;
  const PlanCache::Bytes bytes_{0, 10, 255, 13, 0, 7};
  const PlanCache::Bytes others_{1, 2};
};

TEST_F(Plans, AreThereForThisProgramAndLaterOnes) {
  PlanCache first = cache();
  EXPECT_FALSE(first.find("key"));
  first.keep("key", bytes_);
  first.keep("other", others_);
  fs::remove_all(folder_.path() / "plans");
  EXPECT_THAT(first.find("key"), Optional(bytes_));
  first.keep("key", others_);
  EXPECT_THAT(first.find("key"), Optional(others_));
  EXPECT_THAT(found(), Optional(others_));
  EXPECT_FALSE(found("other"));
  EXPECT_THAT(take_log(), IsEmpty());
}

TEST_F(Plans, WithoutAFolderAreThereForThisProgramAlone) {
  PlanCache cache{std::nullopt};
  cache.keep("key", bytes_);
  EXPECT_THAT(cache.find("key"), Optional(bytes_));
  EXPECT_FALSE(cache.find("other"));
}

TEST_F(Plans, OfDamagedFilesAreNone) {
  cache().keep("key", bytes_);
  const fs::path file = cache().file_of("key");
  const std::string whole = contents_of(file.string());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    write_text(file.string(), damaged);
    EXPECT_FALSE(found()) << "byte " << i;
    write_text(file.string(), whole.substr(0, i));
    EXPECT_FALSE(found()) << "cut after " << i << " bytes";
    EXPECT_THAT(take_log(), HasSubstr(file.string() + " is damaged or holds another plan, and will be overwritten"));
  }
  write_text(file.string(), whole + "more");
  EXPECT_FALSE(found());
  cache().keep("key", bytes_);
  EXPECT_THAT(found(), Optional(bytes_));
}

TEST_F(Plans, OfAnotherKeyAreNone) {
  cache().keep("key", bytes_);
  fs::copy_file(cache().file_of("key"), cache().file_of("other"));
  EXPECT_FALSE(found("other"));
}

TEST_F(Plans, ThatCannotBeWrittenAreKeptInMemoryAndTheLogSaysSoOnce) {
  write_text((folder_.path() / "plans").string(), "a file where the folder would be");
  PlanCache cache = this->cache();
  cache.keep("key", bytes_);
  EXPECT_THAT(take_log(), HasSubstr("cuDNN's plans cannot be saved for later runs: "));
  cache.keep("other", others_);
  EXPECT_THAT(take_log(), IsEmpty());
  EXPECT_THAT(cache.find("key"), Optional(bytes_));
  EXPECT_THAT(cache.find("other"), Optional(others_));
}

TEST(CacheFolder, IsWhatTheEnvironmentSays) {
  const auto set = [](const char* variable, const char* value) {
    if (value == nullptr)
      ::unsetenv(variable);
    else
      ::setenv(variable, value, 1);
  };
  const auto folder = [&](const char* own, const char* caches, const char* home) {
    set("LOCKSTEP_CACHE_DIR", own);
    set("XDG_CACHE_HOME", caches);
    set("HOME", home);
    const auto found = cudnn::cache_folder();
    return found ? found->lexically_normal().string() : std::string("none");
  };
  const char* const home_before = std::getenv("HOME");
  const std::string home = home_before == nullptr ? "" : home_before;
  EXPECT_EQ(folder("/own", "/caches", "/home"), "/own/");
  EXPECT_EQ(folder(nullptr, "/caches", "/home"), "/caches/lockstep");
  EXPECT_EQ(folder("", "", "/home"), "/home/.cache/lockstep");
  EXPECT_EQ(folder(nullptr, nullptr, nullptr), "none");
  if (home_before != nullptr) ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace lockstep::test
