#include <algorithm>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/models/serialization/event_file.h>
#include <lockstep/models/training/callbacks/tensorboard.h>

// tests/interop compares what TensorBoard itself reads from such files.

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using test::SmallProblem;

std::vector<fs::path> files_in(const fs::path& folder) {
  if (!fs::exists(folder)) return {};
  return {fs::directory_iterator(folder), {}};
}

/// The messages in a file of TFRecords, which must not end within one.
std::vector<std::string> records_of(const fs::path& path) {
  const std::string bytes = test::contents_of(path);
  std::vector<std::string> records;
  std::size_t at = 0;
  while (at + 12 <= bytes.size()) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (at + 12 + length + 4 > bytes.size()) break;
    records.push_back(bytes.substr(at + 12, length));
    at += 12 + length + 4;
  }
  EXPECT_EQ(at, bytes.size());
  return records;
}

int count_with(const std::vector<std::string>& records, const std::string& text) {
  return static_cast<int>(
      std::ranges::count_if(records, [&](const auto& record) { return record.find(text) != std::string::npos; }));
}

class TensorBoardOf : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string log_dir_ = folder_ / "logs";
  Model model_ = test::small_model(test::mirrored(2));
  const Dataset data_ = SmallProblem(12).dataset().batch(4);

  void fit(TensorBoardOptions options, const FitOptions& fit = {.epochs = 2}) {
    options.log_dir = log_dir_;
    FitOptions own = fit;
    own.callbacks.push_back(std::make_shared<TensorBoard>(options));
    model_.fit(data_, own);
  }
  std::vector<std::string> records(const char* run) const {
    const std::vector<fs::path> files = files_in(fs::path(log_dir_) / run);
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? std::vector<std::string>() : records_of(files.front());
  }
};

TEST_F(TensorBoardOf, EpochsWritesAPointOfEachCurve) {
  fit({}, {.epochs = 3, .validation = data_});
  const std::vector<std::string> train = records("train");
  EXPECT_EQ(count_with(train, "epoch_loss"), 3);
  EXPECT_EQ(count_with(train, "epoch_accuracy"), 3);
  EXPECT_EQ(count_with(train, "epoch_learning_rate"), 3);
  EXPECT_EQ(count_with(train, "batch_"), 0);
  EXPECT_EQ(count_with(train, "histogram"), 0);
  EXPECT_EQ(count_with(train, "InputLayer"), 1);
  const std::vector<std::string> validation = records("validation");
  EXPECT_EQ(count_with(validation, "epoch_loss"), 3);
  EXPECT_EQ(count_with(validation, "learning_rate"), 0);
}

TEST_F(TensorBoardOf, StepsAndHistogramsAsOftenAsAsked) {
  fit({.histogram_freq = 2, .write_graph = false, .update_freq = 2}, {.epochs = 3});
  const std::vector<std::string> train = records("train");
  EXPECT_EQ(count_with(train, "batch_loss"), 5) << "steps 0, 2, ... 8";
  EXPECT_EQ(count_with(train, "dense/kernel/histogram"), 2) << "epochs 0 and 2";
  EXPECT_EQ(count_with(train, "InputLayer"), 0);
  EXPECT_TRUE(files_in(fs::path(log_dir_) / "validation").empty());
}

TEST_F(TensorBoardOf, WeightsOfOneNameHasAHistogramOfEach) {
  const Symbol x = Input({8});
  const Symbol y = Input({3});
  const Model second(y, Dense({.units = 3})(y), {.name = "second"});
  model_ = Model(x, second(test::small_model(test::mirrored(1))(x)));
  model_.compile(SGD(), SparseCategoricalCrossentropy({.from_logits = true}));
  fit({.histogram_freq = 1}, {.epochs = 1});
  EXPECT_EQ(count_with(records("train"), "dense/kernel/histogram"), 2);
  EXPECT_EQ(count_with(records("train"), "second_dense/kernel/histogram"), 1);
}

// If a name ends in a digit, the graph adds a "_" to it.
TEST_F(TensorBoardOf, TheGraphNamesEachLayerOnce) {
  const Symbol x = Input({8});
  model_ = Model(x, Dense({.units = 3, .name = "d1_"})(Dense({.units = 3, .name = "d1"})(x)));
  model_.compile(SGD(), SparseCategoricalCrossentropy({.from_logits = true}));
  fit({}, {.epochs = 1});
  EXPECT_EQ(count_with(records("train"), "d1__1"), 1);
}

TEST_F(TensorBoardOf, ASecondRunStandsBesideTheFirst) {
  fit({});
  fit({});
  EXPECT_EQ(files_in(fs::path(log_dir_) / "train").size(), 2U);
}

TEST_F(TensorBoardOf, RefusesNegativeNumbers) {
  EXPECT_ERROR(InvalidArgument, "must not be negative, got -1 and 0", TensorBoard({.histogram_freq = -1}));
  EXPECT_ERROR(InvalidArgument, "must not be negative, got 0 and -2", TensorBoard({.update_freq = -2}));
}

TEST_F(TensorBoardOf, AFolderThatCannotBeMadeIsAnError) {
  test::write_text(log_dir_, "a file");
  EXPECT_ERROR(InputError, "logs/train: cannot be made", fit({}));
}

TEST_F(TensorBoardOf, ValuesThatAreNotFiniteAreInNoHistogram) {
  EventFile file(log_dir_);
  const float nan = std::nanf("");
  file.add_histogram("none", 0, std::vector{nan, nan});
  file.add_histogram("equal", 0, std::vector{2.0F, nan, 2.0F});
  file.flush();
  const std::vector<std::string> records = records_of(files_in(log_dir_).front());
  ASSERT_EQ(records.size(), 3U);
  const auto holds = [&](const std::string& record, double number) {
    return record.find(std::string(reinterpret_cast<const char*>(&number), sizeof number)) != std::string::npos;
  };
  EXPECT_TRUE(holds(records[2], 1.5));
  EXPECT_TRUE(holds(records[2], 2.5));
  EXPECT_TRUE(holds(records[2], 2));
  EXPECT_FALSE(holds(records[1], 2));
}

}  // namespace
}  // namespace lockstep
