#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/kernels/executor/divisor.h>

namespace lockstep::test {
namespace {

using kernels::Divisor;
using kernels::Index;

constexpr Index most_narrow = std::numeric_limits<std::int32_t>::max();

/// Small ones, those around powers of two, and some in between.
std::vector<Index> divisors() {
  std::vector<Index> all{3, 5, 6, 7, 10, 57, 114, 641, 12996, 1000003, 1431655765};
  for (int bit = 0; bit < 40; ++bit)
    for (const Index near : {-1, 0, 1})
      if (const Index value = (Index{1} << bit) + near; value >= 1) all.push_back(value);
  return all;
}

/// The numbers near `multiple` times d at which quotients change.
void expect_quotients_near(Index multiple, Index d) {
  const Divisor divisor(d);
  for (const Index n : {multiple * d - 1, multiple * d, multiple * d + 1}) {
    if (n < 0) continue;
    EXPECT_EQ(n / divisor, n / d) << n << " / " << d;
    if (n > most_narrow) continue;
    EXPECT_EQ(static_cast<std::int32_t>(n) / divisor, n / d) << n << " / " << d;
  }
}

TEST(Divisor, DividesAsIntegersDo) {
  for (const Index d : divisors()) {
    EXPECT_EQ(Divisor(d).value(), d);
    for (const Index multiple : {Index{0}, Index{1}, Index{2}, Index{1000}}) expect_quotients_near(multiple, d);
    expect_quotients_near(most_narrow / d, d);
    expect_quotients_near((Index{1} << 62) / d, d);
    EXPECT_EQ(static_cast<std::int32_t>(most_narrow) / Divisor(d), most_narrow / d) << d;
  }
}

}  // namespace
}  // namespace lockstep::test
