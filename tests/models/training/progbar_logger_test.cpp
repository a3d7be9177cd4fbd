#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>
#include <unistd.h>

#include <lockstep/models/training/progbar_logger.h>

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

/// What `act` writes to standard error while that is a terminal.
std::string shown_on_terminal(const std::function<void()>& act) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return "there is no terminal";
  const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const int before = dup(STDERR_FILENO);
  dup2(end, STDERR_FILENO);
  act();
  dup2(before, STDERR_FILENO);
  close(before);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(terminal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  close(end);
  close(terminal);
  return text;
}

TEST(ProgbarLogger, WithVerbose2ShowsOneLineForEachEpochAlsoOnATerminal) {
  const Model small = test::small_model(test::mirrored(2));
  const Dataset data = test::SmallProblem(6).dataset().batch(4);
  const auto fit = [&](int verbose) {
    return shown_on_terminal([&] { Model(small).fit(data, {.epochs = 2, .verbose = verbose}); });
  };
  EXPECT_THAT(fit(2), testing::MatchesRegex("Epoch 1/2 - 0:0[0-9] - [^\r\n]*\r\nEpoch 2/2 - [^\r\n]*\r\n"));
  EXPECT_THAT(fit(1), testing::HasSubstr("Epoch 1/2\r\n"));
  EXPECT_THAT(shown_on_terminal([&] { (void)small.evaluate(data, {.verbose = 2}); }),
              testing::MatchesRegex("evaluate - [^\r\n]*\r\n"));
}

TEST(ProgbarLogger, TheTimeLeftIsThatOfThisRunsSteps) {
  const std::string text = shown_on_terminal([] {
    Model model = test::small_model(test::mirrored(2));
    ProgbarLogger logger;
    logger.on_epoch_begin(model, {.epochs = 1, .steps = 100, .steps_done = 98, .resumed = true});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    logger.show_step(98, 4, [] { return Logs(); });
  });
  EXPECT_THAT(text, testing::ContainsRegex("eta 0:0[1-9]"));
}

}  // namespace
}  // namespace lockstep
