#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>

#include <lockstep/runtime/core/record.h>
#include <lockstep/runtime/data/cache_file.h>
#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::contents_of;
using test::numbers;
using test::read;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DatasetFileCache : public testing::Test {
  std::shared_ptr<std::atomic<int>> made_ = std::make_shared<std::atomic<int>>(0);
  const ComputeThreadsScope one_{1};

 protected:
  /// The numbers below `size` in an order that depends on the epoch. Counts those that it makes.
  Dataset counted(std::int64_t size = 10) const {
    return numbers(size).shuffle({.seed = 1}).map([count = made_](const Example& element) {
      ++*count;
      return element;
    });
  }
  Dataset cached(std::int64_t size = 10) const { return counted(size).cache(file_); }
  /// Number of elements made since the last call.
  int made() const { return made_->exchange(0); }

  /// Expects a pass over the file to fail with one line that begins with its name.
  void expect_refused(const std::string& complaint, std::int64_t size = 10) const {
    EXPECT_EQ(test::error_of<InputError>([&] { (void)read(cached(size)); }), file_ + ": " + complaint);
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "cache";
  const std::vector<float> expected_ = read(counted(), 0);
};

TEST_F(DatasetFileCache, IsWrittenByTheFirstWholePassAndReadByLaterOnes) {
  made();
  EXPECT_EQ(read(cached(), 5), expected_) << "always epoch 0 of the input";
  EXPECT_EQ(made(), 10);
  EXPECT_THAT(folder_.names(), ElementsAre("cache"));
  const Dataset again = cached();  // as in another run of the program
  EXPECT_EQ(again.size(), 10);
  EXPECT_EQ(read(again), expected_);
  EXPECT_EQ(read(again.batch(3).repeat(2)).size(), 20U);
  EXPECT_EQ(made(), 0);
}

TEST_F(DatasetFileCache, IsNotPeekedAt) {
  made();
  EXPECT_FALSE(cached().batch(2).peek());
  EXPECT_EQ(made(), 0);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(DatasetFileCache, SkipsElementsOfTheFileWithoutMakingThem) {
  const auto skip_some = [&](std::int64_t count) {
    return std::vector<float>(expected_.begin() + count, expected_.end());
  };
  made();
  EXPECT_EQ(read(cached().skip(4)), skip_some(4));
  EXPECT_EQ(made(), 10) << "the file has all elements";
  std::string bytes = contents_of(file_);
  bytes[bytes.size() / 2] ^= 1;  // in a skipped element
  write_text(file_, bytes);
  EXPECT_EQ(read(cached().skip(8)), skip_some(8));
  EXPECT_THAT(read(cached().skip(20)), IsEmpty());
  EXPECT_EQ(made(), 0);
}

TEST_F(DatasetFileCache, IsNotLeftByAPassThatEndsEarly) {
  EXPECT_EQ(read(cached().take(9)).size(), 9U);
  EXPECT_THAT(folder_.names(), IsEmpty());
  const Dataset failing = numbers(4).map([](const Example& element) -> Example {
    if (element.x().item<float>() == 3) throw std::runtime_error("no more");
    return element;
  });
  EXPECT_ERROR(InputError, "no more", (void)read(failing.cache(file_)));
  const Dataset undefined_y = numbers(2).map([](const Example& e) { return Example{e.inputs, {Tensor()}}; });
  EXPECT_ERROR(InvalidArgument, "has an undefined tensor", (void)read(undefined_y.cache(file_)));
  EXPECT_THAT(folder_.names(), IsEmpty());
}

/// A caller that knows the size does not ask for the end.
TEST_F(DatasetFileCache, IsCompleteAfterTheLastElement) {
  const Dataset set = cached();
  DatasetIterator pass = set.epoch();
  for (int i = 0; i < 10; ++i) (void)pass.next();
  EXPECT_THAT(folder_.names(), ElementsAre("cache"));
  EXPECT_FALSE(pass.next().has_value());
  made();
  const RowWindow first_row = [](std::int64_t) { return RowRange{0, 1}; };
  EXPECT_EQ(read(set.batch(5).rows_of_batches(first_row).value()), (std::vector<float>{expected_[0], expected_[5]}));
  EXPECT_EQ(made(), 0);
}

TEST_F(DatasetFileCache, HasSetsOfUnknownSizeAndEmptyOnes) {
  const Dataset some = numbers(6).filter([](const Example& e) { return e.x().item<float>() > 2; }).cache(file_);
  for (int pass = 0; pass < 2; ++pass) EXPECT_THAT(read(some), ElementsAre(3, 4, 5));
  const Dataset none = numbers(6).take(0).cache(folder_ / "none");
  for (int pass = 0; pass < 2; ++pass) EXPECT_THAT(read(none), IsEmpty());
  EXPECT_THAT(folder_.names(), ElementsAre("cache", "none"));
}

TEST_F(DatasetFileCache, KeepsAllDtypesShapesAndTensors) {
  const std::vector<float> values{0, 1, 200, 3, 1, 0};
  const auto element = [&](float first) {
    Example all;
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
      const Tensor tensor = Tensor::zeros({2, 3}, dtype);
      visit_dtype(dtype, [&]<class T>() {
        for (std::size_t i = 0; i < values.size(); ++i) tensor.span<T>()[i] = static_cast<T>(values[i] + first);
      });
      all.inputs.push_back(tensor);
    }
    all.inputs.push_back(all.inputs.front().transposed_view());
    all.inputs.push_back(Tensor::zeros({0, 5}));
    all.targets = {Tensor::scalar<std::int64_t>(1LL << 40), Tensor::full({1, 1, 1, 1, 1, 1, 1, 2}, first)};
    all.sample_weights = {Tensor::scalar(0.25F)};
    return all;
  };
  const Dataset set = numbers(2).map([&](const Example& e) { return element(e.x().item<float>()); });
  std::vector<std::string> bytes;
  for (int pass = 0; pass < 2; ++pass)
    for (const Example& each : set.cache(file_).epoch()) bytes.push_back(detail::encode_example(each));
  EXPECT_THAT(bytes,
              ElementsAre(detail::encode_example(element(0)), detail::encode_example(element(1)), bytes[0], bytes[1]));

  const Example found = set.cache(file_).epoch().next().value();
  EXPECT_THAT(found.inputs.at(6).to_vector<float>(), ElementsAre(0, 3, 1, 1, 200, 0));
  EXPECT_EQ(found.inputs.at(6).shape(), (Shape{3, 2}));
  EXPECT_EQ(found.inputs.at(7).shape(), (Shape{0, 5}));
  EXPECT_THAT(found.inputs.at(5).to_vector<bool>(), ElementsAre(false, true, true, true, true, false));
  EXPECT_THAT(found.inputs.at(1).to_vector<float>(), testing::ElementsAreArray(values));
  EXPECT_EQ(found.y().item<std::int64_t>(), 1LL << 40);
  EXPECT_EQ(found.targets.at(1).rank(), 8);
  EXPECT_EQ(found.sample_weight().item<float>(), 0.25F);
}

TEST_F(DatasetFileCache, HoldsMoreThanItsBuffer) {
  const auto large = [](const Example& e) { return e.with_x(Tensor::full({300'000}, e.x().item<float>())); };
  const Dataset set = numbers(5).map(large).cache(file_);
  for (int pass = 0; pass < 2; ++pass) {
    float next = 0;
    for (const Example& each : set.epoch()) EXPECT_EQ(each.x().to_vector<float>(), std::vector<float>(300'000, next++));
    EXPECT_EQ(next, 5);
  }
}

TEST_F(DatasetFileCache, ServesSeveralPassesAtOnce) {
  const Dataset set = cached();
  DatasetIterator first = set.epoch(0);
  DatasetIterator second = set.epoch(1);
  std::vector<float> values;
  for (int i = 0; i < 5; ++i) {
    values.push_back(first.next()->x().item<float>());
    (void)second.next();
  }
  EXPECT_EQ(read(set), expected_) << "completes the file";
  EXPECT_EQ(read(std::move(second)).size(), 5U);
  for (const float value : read(std::move(first))) values.push_back(value);
  EXPECT_EQ(values, expected_);
  EXPECT_THAT(folder_.names(), ElementsAre("cache"));
  std::filesystem::remove(file_);
  std::vector<std::vector<float>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& each : found) threads.emplace_back([&] { each = read(set); });
  }
  EXPECT_THAT(found, testing::Each(expected_));
  EXPECT_EQ(read(cached()), expected_);
  EXPECT_THAT(folder_.names(), ElementsAre("cache"));
}

TEST_F(DatasetFileCache, RefusesTheFileOfAnotherDataSet) {
  (void)read(cached());
  expect_refused(
      "has 10 elements, the data set has 11: it is the cache of another data set; delete it or name another file", 11);
  const std::string no_cache = "it is no cache file of this version of lockstep; delete it or name another file";
  for (const std::string& text : {std::string(), std::string("x,y\n1,2\n"), std::string(100, '\0')}) {
    write_text(file_, text);
    expect_refused(no_cache);
  }
  std::ofstream records(file_, std::ios::binary);
  write_record(records, std::string("another record"));
  records.close();
  expect_refused(no_cache);
}

TEST_F(DatasetFileCache, RefusesEveryDamage) {
  (void)read(cached(3));
  const std::string whole = contents_of(file_);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write_text(file_, whole.substr(0, bytes));
    const std::string message = test::error_of<InputError>([&] { (void)read(cached(3)); });
    EXPECT_THAT(message, testing::StartsWith(file_ + ": ")) << bytes;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    write_text(file_, damaged);
    const std::string message = test::error_of<InputError>([&] { (void)read(cached(3)); });
    EXPECT_THAT(message, testing::StartsWith(file_ + ": ")) << at;
  }
  write_text(file_, whole.substr(0, whole.size() - 1));
  expect_refused(
      "is cut short or damaged; delete it to have it written again: its index: its length has a wrong checksum", 3);
}

TEST_F(DatasetFileCache, RefusesFilesItCannotWrite) {
  EXPECT_EQ(test::error_of<InputError>([&] { (void)read(counted().cache(folder_ / "none/cache")); }),
            folder_ / "none/cache: cannot be written: No such file or directory");
  EXPECT_ERROR(InputError, "is not a regular file", (void)read(counted().cache(folder_.path())));
  EXPECT_ERROR(InvalidArgument, "needs the name of a file", (void)counted().cache(""));
  EXPECT_ERROR(InvalidArgument, "call cache() before repeat()", (void)counted().repeat().cache(file_));
}

TEST(CacheFile, RefusesElementsThatItHasNotEncoded) {
  const std::string whole = detail::encode_example({{Tensor::scalar(true)}, {Tensor::zeros({2}, DType::i64)}});
  const auto refused = [&](std::size_t at, char value) {
    std::string bytes = whole;
    bytes.at(at) = value;
    return test::error_of<InputError>([&] { (void)detail::decode_example(bytes); });
  };
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_ERROR(InputError, "ends within its element", (void)detail::decode_example(std::span(whole).first(size)));
  EXPECT_ERROR(InputError, "bytes after its element", (void)detail::decode_example(whole + '\0'));
  EXPECT_EQ(refused(4, 6), "has no valid dtype or rank");
  EXPECT_EQ(refused(5, 9), "has no valid dtype or rank");
  EXPECT_EQ(refused(6, 2), "has a bool that is neither 0 nor 1");
  constexpr std::size_t dim = 4 + 2 + 1 + 4 + 2;
  EXPECT_EQ(refused(dim, 3), "ends within its element");
  EXPECT_EQ(refused(dim + 7, '\x7f'), "ends within its element");
  EXPECT_EQ(refused(dim + 7, '\x80'), "has the shape (-9223372036854775806), which no tensor has");
}

}  // namespace
}  // namespace lockstep
