#include <atomic>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/tensors.h>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/thread/parallel.h>

#include "dataset_testing.h"

namespace lockstep {
namespace {

using test::numbers;
using test::read;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Part `index` of `parts`, the first ones longer. An empty part still gets one row, as in code that splits batches.
RowWindow part(std::int64_t index, std::int64_t parts) {
  return [=](std::int64_t rows) {
    const auto begin_of = [&](std::int64_t i) { return i * (rows / parts) + std::min(i, rows % parts); };
    const RowRange range{begin_of(index), begin_of(index + 1)};
    return range.begin == range.end ? RowRange{0, 1} : range;
  };
}

Example place(const Example& example, const ElementId& id) {
  const std::vector values{example.x().item<float>(), static_cast<float>(id.epoch), static_cast<float>(id.number)};
  return {{Tensor::from(values, {3})}, example.targets};
}

Example doubled(const Example& rows) {
  return rows.with_x(Tensor::from(
      [&] {
        std::vector<float> values = rows.x().to_vector<float>();
        for (float& value : values) value *= 2;
        return values;
      }(),
      rows.x().shape()));
}

struct BatchesCase {
  std::string name;
  Dataset batches;
};

void PrintTo(const BatchesCase& of, std::ostream* out) { *out << of.name; }

std::vector<BatchesCase> all_pipelines() {
  const Dataset set = numbers(23).shuffle({.seed = 4});
  const Dataset rows = Dataset::from_rows(
      [](std::int64_t begin, std::int64_t end) {
        const Batch all = numbers(23).batch(23).epoch().next().value();
        return all.each([&](const Tensor& tensor) { return tensor.slice_view(0, begin, end); });
      },
      23);
  return {
      {"InOrder", numbers(23).batch(7)},
      {"Shuffled", set.batch(7)},
      {"WithoutRemainder", set.batch(7, true)},
      {"FewerThanABatch", numbers(2).batch(7)},
      {"LastOfOne", numbers(22).batch(7)},
      {"Rows", rows.batch(7)},
      {"RowsMapped", rows.shuffle().map(place).batch(7)},
      {"Mapped", set.map(place).batch(7)},
      {"ShuffledByABuffer", numbers(23).map(place).shuffle({.seed = 5, .buffer = 6}).batch(7)},
      {"RepeatedBefore", set.map(place).repeat(3).batch(7)},
      {"RepeatedAfter", set.map(place).batch(7).repeat(3)},
      {"EndlessBefore", set.repeat().batch(7).take(9)},
      {"EndlessAfter", set.batch(7).repeat().take(9)},
      {"Taken", set.take(12).batch(5)},
      {"BatchesTaken", set.batch(5).take(3)},
      {"BatchesSkipped", set.map(place).batch(5).skip(2)},
      {"TransformedByRow", set.map(place).batch(7).map(RowTransform(doubled)).map(RowTransform(doubled))},
      {"Prefetched", set.map(place).prefetch().batch(7).map(RowTransform(doubled)).prefetch(3)},
      {"BatchesOfBatches", set.batch(2, true).batch(4)},
      {"Cached", set.map(place).cache().batch(7)},
      {"BatchesCached", set.map(place).batch(7).cache()},
      {"Unbatched", set.batch(4).unbatch().batch(7)},
      {"WindowsOf", numbers(23).window(3, {.shift = 1, .drop_remainder = true}).batch(7)},
      {"Concatenated", set.map(place).concatenate(set.map(place).take(3)).batch(7)},
      {"BatchesConcatenated", set.batch(7).concatenate(numbers(12).batch(5)).concatenate(numbers(9).batch(3))},
      {"Zipped", Dataset::zip({set, numbers(30)}).batch(7)},
      {"BatchesZipped", Dataset::zip({set.batch(7), numbers(23).batch(7)})},
      {"Sampled", Dataset::sample_from_datasets({set.map(place), set.map(place)}).batch(7)},
      {"All", set.map(place).repeat(2).batch(7).map(RowTransform(doubled)).repeat().skip(3).take(8).prefetch()},
  };
}

class RowsOfBatches : public testing::TestWithParam<BatchesCase> {};

TEST_P(RowsOfBatches, AreThoseOfTheWholeBatches) {
  const Dataset& batches = GetParam().batches;
  for (const std::int64_t parts : {1, 2, 3})
    for (std::int64_t index = 0; index < parts; ++index) {
      const RowWindow window = part(index, parts);
      const Dataset own = batches.rows_of_batches(window).value();
      EXPECT_EQ(own.size(), batches.size());
      EXPECT_EQ(own.dropped_rows(), batches.dropped_rows());
      DatasetIterator pass = own.epoch(3);
      std::int64_t number = 0;
      for (const Batch& whole : batches.epoch(3)) {
        ASSERT_EQ(own.batch_rows(number++), whole.size());
        ASSERT_EQ(batches.batch_rows(number - 1), whole.size());
        const RowRange range = window(whole.size());
        const Batch rows = pass.next().value();
        test::expect_same_bits(rows.x(), whole.x().slice_view(0, range.begin, range.end));
        test::expect_same_bits(rows.y(), whole.y().slice_view(0, range.begin, range.end));
      }
      EXPECT_GT(number, 0);
      EXPECT_FALSE(pass.next());
    }
}

std::string name_of_batches(const testing::TestParamInfo<BatchesCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Data, RowsOfBatches, testing::ValuesIn(all_pipelines()), name_of_batches);

TEST(RowsOfBatchesOfAMap, MakeNoOthers) {
  for (const int threads : {1, 4}) {
    const ComputeThreadsScope share(threads);
    std::atomic<int> elements{0};
    std::atomic<int> rows{0};
    const auto count = [&](const Example& example) {
      ++elements;
      return example;
    };
    const auto count_rows = [&](const Batch& batch) {
      rows += static_cast<int>(batch.size());
      return batch;
    };
    const Dataset mapped = numbers(23).shuffle().map(count);
    const auto own_of = [](const Dataset& batches) { return batches.rows_of_batches(part(1, 3)).value(); };
    EXPECT_EQ(read(own_of(mapped.batch(7).map(RowTransform(count_rows)).prefetch())).size(), 2U + 2 + 2 + 1);
    EXPECT_EQ(elements, 7);
    EXPECT_EQ(rows, 7);
    elements = 0;
    EXPECT_EQ(read(own_of(mapped.batch(7).skip(1).repeat(2))).size(), 10U);
    EXPECT_EQ(elements, 10) << "nor those of batches that are skipped";
    elements = 0;
    EXPECT_EQ(read(own_of(mapped.repeat(2).batch(7))).size(), 6 * 2U + 1);
    EXPECT_EQ(elements, 13) << "nor the last ones of a repetition";
  }
}

TEST(RowsOfBatchesOfAMap, TellTheNumberOfAnElementThatFailed) {
  const auto fails = [](const Example& example) -> Example {
    if (example.x().item<float>() == 5) throw std::runtime_error("not this one");
    return example;
  };
  const Dataset batches = numbers(12).map(fails).batch(6);
  EXPECT_EQ(read(batches.rows_of_batches(part(0, 2)).value()).size(), 6U);
  EXPECT_THAT([&] { read(batches.rows_of_batches(part(1, 2)).value()); },
              ThrowsMessage<InputError>("map, element 5: not this one"));
}

TEST(RowsOfBatchesWhereTheOthersAreNeeded, AreNone) {
  const RowWindow window = part(0, 2);
  const Dataset set = numbers(6);
  EXPECT_FALSE(set.rows_of_batches(window)) << "without batches";
  EXPECT_FALSE(set.batch(2).shuffle().rows_of_batches(window));
  EXPECT_FALSE(set.batch(2)
                   .map([](const Batch& batch) { return batch; })
                   .map(RowTransform(doubled))
                   .prefetch()
                   .rows_of_batches(window));
  const auto ends = [](std::uint64_t) -> DatasetIterator {
    return []() -> std::optional<Example> { return std::nullopt; };
  };
  const Dataset unknown = Dataset::from_generator(ends);
  const auto all = [](const Example&) { return true; };
  for (const Dataset& batches :
       {unknown.batch(2), unknown.repeat().batch(2), unknown.take(4).batch(2).repeat(), set.filter(all).batch(2),
        set.batch(2).filter(all), set.batch(2).window(1), set.batch(2).unbatch(),
        set.flat_map([&](const Example&) { return set; }).batch(2), Dataset::zip({set.batch(2), unknown.batch(2)}),
        unknown.batch(2).concatenate(set.batch(2)), Dataset::sample_from_datasets({set.batch(2), set.batch(2)})}) {
    EXPECT_FALSE(batches.rows_of_batches(window));
    EXPECT_FALSE(batches.batch_rows(0));
  }
  for (const Dataset& batches : {set.padded_batch(2), set.batch(2).concatenate(unknown.batch(2))}) {
    EXPECT_FALSE(batches.rows_of_batches(window));
    EXPECT_EQ(batches.batch_rows(0), 2) << "known all the same";
  }
  EXPECT_THROW((void)set.batch(2).rows_of_batches(nullptr), InvalidArgument);
  EXPECT_THROW((void)RowTransform(nullptr), InvalidArgument);
}

TEST(DatasetFromRows, ReadsWhatABatchNeedsAtOnceAndNothingThatIsSkipped) {
  using Reads = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Reads reads;
  const auto read_rows = [&](std::int64_t begin, std::int64_t end) {
    reads.emplace_back(begin, end);
    return Batch{{Tensor::zeros({end - begin, 1 << 18})}};  // one megabyte
  };
  const Dataset set = Dataset::from_rows(read_rows, 100);
  EXPECT_EQ(set.size(), 100);
  for (const Batch& batch : set.batch(40).rows_of_batches(part(1, 2)).value().epoch()) EXPECT_EQ(batch.x().rank(), 2);
  EXPECT_EQ(reads, (Reads{{20, 40}, {60, 80}, {90, 100}}));
  reads.clear();
  for (const Batch& batch : set.skip(90).batch(2).epoch()) EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(reads, (Reads{{90, 92}, {92, 96}, {96, 100}})) << "a few megabytes ahead";
}

TEST(DatasetFromRows, GivesBatchesThatLieInTwoReads) {
  std::vector<std::int64_t> firsts;
  const auto read_rows = [&](std::int64_t begin, std::int64_t end) {
    firsts.push_back(begin);
    const Tensor x = Tensor::zeros({end - begin, 1 << 18});
    for (std::int64_t row = begin; row < end; ++row)
      x.data<float>()[(row - begin) * (1 << 18)] = static_cast<float>(row);
    return Batch{{x}};
  };
  std::vector<float> seen;
  for (const Batch& batch : Dataset::from_rows(read_rows, 16).batch(3).epoch())
    for (std::int64_t row = 0; row < batch.size(); ++row) seen.push_back(batch.x().data<float>()[row * (1 << 18)]);
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(firsts, ElementsAre(0, 3, 7, 11, 15));
}

/// Two columns, one after the other in memory.
TEST(DatasetFromRows, TakesStridedRows) {
  const auto read_rows = [](std::int64_t begin, std::int64_t end) {
    std::vector<float> columns;
    for (const float first : {0.0F, 100.0F})
      for (std::int64_t row = begin; row < end; ++row) columns.push_back(first + static_cast<float>(row));
    return Batch{{Tensor::from(columns, {2, end - begin}).transposed_view()}};
  };
  const Dataset set = Dataset::from_rows(read_rows, 4);
  EXPECT_THAT(test::read(set), ElementsAre(0, 100, 1, 101, 2, 102, 3, 103));
  EXPECT_THAT(test::read(set.batch(3)), ElementsAre(0, 100, 1, 101, 2, 102, 3, 103));
}

TEST(DatasetFromRows, SaysWhereReadingFailed) {
  const auto too_few = [](std::int64_t, std::int64_t) { return Batch{{Tensor::zeros({3})}}; };
  EXPECT_THAT([&] { (void)Dataset::from_rows(too_few, 9).skip(2).batch(4).epoch().next(); },
              ThrowsMessage<InvalidArgument>(HasSubstr(
                  "from_rows, element 2: the function given to from_rows() must return 4 row(s), got x f32 (3)")));
  const auto more_targets = [](std::int64_t, std::int64_t) {
    return Batch{{Tensor::zeros({4})}, {Tensor::zeros({4}), Tensor::zeros({5})}};
  };
  EXPECT_THAT([&] { (void)Dataset::from_rows(more_targets, 9).batch(4).epoch().next(); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must return 4 row(s), got a target f32 (5)")));
  EXPECT_THAT([] { (void)Dataset::from_rows(nullptr, 1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("needs a function")));
  EXPECT_THAT([&] { (void)Dataset::from_rows(too_few, -1); }, ThrowsMessage<InvalidArgument>(HasSubstr("got -1")));
  EXPECT_FALSE(Dataset::from_rows(too_few, 0).epoch().next());
}

}  // namespace
}  // namespace lockstep
