#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/libtorch/distribute.h>

#include "nets.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// Numbers 0 to 9 with themselves as targets.
struct Numbers : torch::data::datasets::Dataset<Numbers> {
  torch::data::Example<> get(std::size_t index) override {
    const auto number = static_cast<std::int64_t>(index);
    return {torch::full({2}, number), torch::scalar_tensor(number, torch::kLong)};
  }
  torch::optional<std::size_t> size() const override { return 10; }
};

/// The targets that each replica was given in each step, and the global sizes.
template <class Loader, class Targets>
auto deal(const Strategy& strategy, Loader& loader, const Targets& targets_of) {
  std::vector<std::vector<std::vector<std::int64_t>>> dealt;
  std::vector<std::int64_t> sizes;
  for (auto&& batch : libtorch::distribute(strategy, loader)) {
    sizes.push_back(batch.global_size());
    dealt.push_back(strategy.run(targets_of, batch).local_results());
  }
  return std::pair(dealt, sizes);
}

std::vector<std::int64_t> numbers_in(const torch::Tensor& targets) {
  return {targets.data_ptr<std::int64_t>(), targets.data_ptr<std::int64_t>() + targets.numel()};
}

TEST(DistributedLoader, DealsEveryRowOnceInOrder) {
  const MirroredStrategy strategy = cpus(3);
  const auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      Numbers().map(torch::data::transforms::Stack<>()), 4);
  const auto [dealt, sizes] = deal(strategy, *loader, [](const Rows& own) {
    EXPECT_EQ(own.data.size(0), own.target.size(0));
    return numbers_in(own.target);
  });
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  using Parts = std::vector<std::vector<std::int64_t>>;
  EXPECT_THAT(dealt, ElementsAre(Parts{{0, 1}, {2}, {3}}, Parts{{4, 5}, {6}, {7}}, Parts{{8}, {9}, {}}));
}

TEST(DistributedLoader, DealsRowsThatAreNotStacked) {
  const MirroredStrategy strategy = cpus(2);
  const auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(), 5);
  const auto [dealt, sizes] = deal(strategy, *loader, [](const std::vector<Rows>& own) {
    std::vector<std::int64_t> numbers;
    for (const Rows& row : own) numbers.push_back(row.target.item<std::int64_t>());
    return numbers;
  });
  using Parts = std::vector<std::vector<std::int64_t>>;
  EXPECT_THAT(dealt, ElementsAre(Parts{{0, 1, 2}, {3, 4}}, Parts{{5, 6, 7}, {8, 9}}));
}

TEST(DistributedLoader, TakesAnyRangeOfBatches) {
  const MirroredStrategy strategy = cpus(2);
  std::vector<torch::Tensor> batches{torch::arange(3), torch::arange(4)};
  const auto [dealt, sizes] = deal(strategy, batches, numbers_in);
  using Parts = std::vector<std::vector<std::int64_t>>;
  EXPECT_THAT(dealt, ElementsAre(Parts{{0, 1}, {2}}, Parts{{0, 1}, {2, 3}}));
}

TEST(DistributedLoader, TakesRandomRowsWithoutTargetsFromWorkers) {
  const MirroredStrategy strategy = cpus(2);
  const auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      torch::data::datasets::TensorDataset(torch::arange(10))
          .map(torch::data::transforms::Stack<torch::data::TensorExample>()),
      torch::data::DataLoaderOptions().batch_size(4).workers(2));
  const auto [dealt, sizes] =
      deal(strategy, *loader, [](const torch::data::TensorExample& own) { return numbers_in(own.data); });
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(4, 4, 2));
  std::vector<std::int64_t> all;
  for (const auto& parts : dealt)
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  EXPECT_THAT(all, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(DistributedLoader, TakesRowsOfDifferentSizes) {
  using Images = torch::data::Example<std::vector<torch::Tensor>, torch::Tensor>;
  const MirroredStrategy strategy = cpus(2);
  std::vector<Images> batches{{{torch::ones({2}), torch::ones({3}), torch::ones({4})}, torch::arange(3)}};
  const auto [dealt, sizes] = deal(strategy, batches, [](const Images& own) {
    std::vector<std::int64_t> lengths;
    for (const torch::Tensor& image : own.data) lengths.push_back(image.numel());
    EXPECT_EQ(own.target.numel(), static_cast<std::int64_t>(lengths.size()));
    return lengths;
  });
  EXPECT_THAT(dealt, ElementsAre(std::vector<std::vector<std::int64_t>>{{2, 3}, {4}}));
}

TEST(ReplicaBatches, NeedATargetForEachRow) {
  EXPECT_THAT(
      [] {
        libtorch::ReplicaBatches(cpus(2), Rows{torch::ones({4, 8}), torch::arange(5)});
      },
      testing::ThrowsMessage<InvalidArgument>("the batch has 4 rows of data and 5 of targets"));
}

TEST(ReplicaBatches, AreViews) {
  const MirroredStrategy strategy = cpus(2);
  const torch::Tensor all = torch::arange(6);
  const libtorch::ReplicaBatches batch(strategy, all);
  EXPECT_EQ(batch.parts()[1].data_ptr(), all.data_ptr<std::int64_t>() + 3);
}

TEST(ReplicaBatches, CountTheirRowsForTheReplica) {
  const MirroredStrategy strategy = cpus(2);
  const libtorch::ReplicaBatches batch(strategy, torch::arange(5));
  const auto counts = strategy.run([](const torch::Tensor&) { return current_batch_rows()->own; }, batch);
  EXPECT_THAT(counts.local_results(), ElementsAre(3, 2));
}

TEST(AsExample, SharesTheMemoryOfALockstepBatch) {
  const MirroredStrategy strategy = cpus(2);
  const Batch batch{{Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2})},
                    {Tensor::from(std::vector<std::int64_t>{7, 8, 9}, {3})}};
  const DistributedBatch parts(batch, 2);
  const auto targets = strategy.run(
      [&](const Batch& own) {
        const torch::data::Example<> rows = libtorch::as_example(own);
        EXPECT_EQ(rows.data.data_ptr(), own.x().raw_data());
        return numbers_in(rows.target);
      },
      parts);
  using Numbers = std::vector<std::int64_t>;
  EXPECT_THAT(targets.local_results(), ElementsAre(Numbers{7, 8}, Numbers{9}));
  EXPECT_FALSE(libtorch::as_example(Batch{{batch.x()}}).target.defined());
}

}  // namespace
}  // namespace lockstep::test
