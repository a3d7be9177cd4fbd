#include <gtest/gtest.h>
#include <support/small_problem.h>

namespace lockstep::test {
namespace {

TEST(BatchFeed, GoesOnWithTheNextPassInTheNextFit) {
  const SmallProblem problem(40);
  const auto weights_after = [&](const std::vector<FitOptions>& calls) {
    Model model = small_model(mirrored(2));
    for (const FitOptions& options : calls) model.fit(problem.x, problem.y, options);
    return weights_of(model);
  };
  const auto expected = weights_after({{.epochs = 3}});
  EXPECT_EQ(weights_after({{.epochs = 1}, {.epochs = 2}}), expected);
  EXPECT_EQ(weights_after({{.epochs = 1}, {.epochs = 3, .initial_epoch = 1}}), expected);
}

}  // namespace
}  // namespace lockstep::test
