#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/models/training/callbacks/progbar_logger.h>

namespace lockstep {
namespace {

/// What fit writes to standard error, which is not a terminal.
std::string shown_by_fit(const FitOptions& options) {
  Model model = test::small_model(test::mirrored(2));
  model.compile(SGD(), SparseCategoricalCrossentropy{{.from_logits = true}},
                {Accuracy(), MeanMetricWrapper("bits", [](const Tensor& y_true, const Tensor&) {
                   return std::vector<double>(static_cast<std::size_t>(y_true.dim(0)), 1.5);
                 })});
  testing::internal::CaptureStderr();
  model.fit(test::SmallProblem(6).dataset().batch(4), options);
  return testing::internal::GetCapturedStderr();
}

TEST(ProgbarLogger, IsAddedToFitUnlessTold) {
  const auto two_epochs = testing::MatchesRegex(
      "Epoch 1/2 - 0:0[0-9] - [0-9]+ examples/s - accuracy: [0-9.]+ - bits: 1.5000 - loss: [0-9.]+\n"
      "Epoch 2/2 - [^\n]*\n");
  EXPECT_THAT(shown_by_fit({.epochs = 2}), two_epochs);
  EXPECT_THAT(shown_by_fit({.epochs = 2, .callbacks = {std::make_shared<ProgbarLogger>()}}), two_epochs);
  EXPECT_EQ(shown_by_fit({.epochs = 2, .verbose = 0}), "");
}

}  // namespace
}  // namespace lockstep
