#include <memory>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/elements.h>

namespace lockstep {

/// Follows the protocol of Elements, but is not one.
struct CountsDown {
  std::optional<int> next() { return left-- > 0 ? std::optional(left) : std::nullopt; }
  int left = 2;
};

namespace {

using testing::ElementsAre;

/// 0, 1, .., count - 1; move-only.
Elements<int> counting(int count) {
  return [count, next = std::make_unique<int>(0)]() -> std::optional<int> {
    if (*next == count) return std::nullopt;
    return (*next)++;
  };
}

TEST(Elements, AreGivenInOrderAndEndOnce) {
  Elements<int> pass = counting(2);
  EXPECT_TRUE(pass);
  EXPECT_EQ(pass.next(), 0);
  EXPECT_EQ(pass.next(), 1);
  EXPECT_EQ(pass.next(), std::nullopt);
  EXPECT_FALSE(pass);
  EXPECT_EQ(pass.next(), std::nullopt);
}

TEST(Elements, EndWithWhatIsThrown) {
  int calls = 0;
  Elements<int> pass = [&]() -> std::optional<int> {
    ++calls;
    throw std::runtime_error("no more disk");
  };
  EXPECT_THROW(pass.next(), std::runtime_error);
  EXPECT_EQ(pass.next(), std::nullopt);
  EXPECT_EQ(calls, 1);
}

TEST(Elements, LetTheirSourceGoAtTheEnd) {
  auto source = std::make_shared<int>(7);
  Elements<int> pass = [source]() -> std::optional<int> { return std::nullopt; };
  EXPECT_EQ(source.use_count(), 2);
  EXPECT_EQ(pass.next(), std::nullopt);
  EXPECT_EQ(source.use_count(), 1);
}

TEST(Elements, OfNoFunctionOrMovedFromAreNone) {
  EXPECT_EQ(Elements<int>().next(), std::nullopt);
  Elements<int> pass = counting(2);
  Elements<int> other = std::move(pass);
  EXPECT_EQ(pass.next(), std::nullopt);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(other.next(), 0);
}

TEST(Elements, AreGoneOverByRangeFor) {
  std::vector<int> seen;
  Elements<int> pass = counting(4);
  EXPECT_EQ(pass.next(), 0);
  for (const int element : pass) seen.push_back(element);
  for (const int element : counting(1)) seen.push_back(element);
  for (const int element : CountsDown()) seen.push_back(element);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 0, 1, 0));
}

}  // namespace
}  // namespace lockstep
