#include <algorithm>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.h>
#include <support/pretend_gpu/computing.h>
#include <support/tensors.h>

#include <lockstep/runtime/device/contracts.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/update/bucket_exchange.h>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Three ranges of gradients on `replicas` GPUs: filled with 1 on the first GPU, 2 on the second, ...
class Exchange {
 public:
  explicit Exchange(int replicas) : gpus_(logical_gpus(replicas)) {
    for (const LogicalDevice& gpu : gpus_) {
      gradients_.push_back(Tensor::empty({64}, DType::f32, gpu));
    }
    compute();
    test::pretend_cuda()->take_collectives();
  }
  ~Exchange() {
    collectives_.wait_until_enqueued();
    for (const LogicalDevice& gpu : gpus_) synchronize(gpu);  // before the memory is freed
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  void compute() const {
    for (std::size_t replica = 0; replica < gpus_.size(); ++replica) compute(replica);
  }
  void compute(std::size_t replica) const {
    copy(Tensor::full({64}, static_cast<double>(replica + 1)), gradients_[replica]);
  }
  void add(int replica, std::size_t range) { add(replica, range, ranges_[range].end); }
  void add(int replica, std::size_t range, std::int64_t end) {
    const std::int64_t begin = ranges_[range].begin;
    float* const own = gradients_[static_cast<std::size_t>(replica)].data<float>() + begin;
    exchange.add(replica, {.from = own, .to = own, .elements = static_cast<std::size_t>(end - begin)}, range,
                 ranges_.size());
  }
  /// Sizes of the ranges submitted since the last call.
  std::vector<std::size_t> enqueued() {
    collectives_.wait_until_enqueued();
    return test::take_collective_elements();
  }
  /// Current values, without waiting for enqueued work.
  std::vector<float> gradients(int replica) const {
    const Tensor& own = gradients_[static_cast<std::size_t>(replica)];
    std::vector<float> values(64);
    gpu_platform().copy(values.data(), {}, own.raw_data(), own.device(), values.size() * sizeof(float));
    return values;
  }
  std::size_t waits(int replica) {
    collectives_.wait_until_enqueued();
    return test::progress_of({gpus_[static_cast<std::size_t>(replica)], StreamKind::communication}).waits;
  }

 private:
  const test::DeferredWork deferred_;
  std::vector<LogicalDevice> gpus_;
  std::vector<Tensor> gradients_{};
  const std::vector<FlatRange> ranges_{{0, 16}, {16, 48}, {48, 64}};
  GpuCollectives collectives_{gpus_, make_gpu_communicators(gpus_, std::chrono::seconds(30), nullptr),
                              std::chrono::seconds(30)};

 public:
  BucketExchange exchange{gpus_, collectives_};
};

TEST(BucketExchange, EnqueuesRangesInTheirOrderOnceAllReplicasHaveCome) {
  Exchange two(2);
  for (const std::size_t range : {2U, 0U, 1U}) two.add(0, range);
  two.add(1, 1);
  EXPECT_THAT(two.enqueued(), IsEmpty());
  two.add(1, 0);
  EXPECT_THAT(two.enqueued(), ElementsAre(16, 32));
  two.add(1, 2);
  EXPECT_THAT(two.enqueued(), ElementsAre(16));
}

TEST(BucketExchange, SumsBesideWhatIsComputedUntilAReplicaJoins) {
  Exchange three(3);
  for (const int replica : {0, 1, 2})
    for (const std::size_t range : {0U, 1U, 2U}) three.add(replica, range);
  EXPECT_EQ(three.gradients(1), std::vector<float>(64, 2)) << "nothing has waited for the sums";
  for (const int replica : {0, 1, 2}) {
    EXPECT_TRUE(three.exchange.has_begun(replica));
    three.exchange.join(replica);
    EXPECT_FALSE(three.exchange.has_begun(replica)) << "the next step";
    EXPECT_EQ(three.gradients(replica), std::vector<float>(64, 6));
  }
  EXPECT_FALSE(three.exchange.has_begun());
}

TEST(BucketExchange, EachRangeComesAfterWhatItsReplicasHaveComputed) {
  Exchange two(2);
  const std::size_t before[] = {two.waits(0), two.waits(1)};
  two.add(0, 0);
  EXPECT_EQ(two.waits(0), before[0]) << "it is not exchanged yet";
  two.add(1, 0);
  for (const int replica : {0, 1}) EXPECT_EQ(two.waits(replica), before[replica] + 1);
  for (const int replica : {0, 1})
    for (const std::size_t range : {1U, 2U}) two.add(replica, range);
  for (const int replica : {0, 1}) EXPECT_EQ(two.waits(replica), before[replica] + 3);
}

TEST(BucketExchange, AStepAfterAnAbandonedOneIsWhole) {
  Exchange two(2);
  for (const int replica : {0, 1}) two.add(replica, 0);
  two.add(0, 2);
  two.exchange.abandon();
  EXPECT_FALSE(two.exchange.has_begun());
  for (const LogicalDevice& gpu : logical_gpus(2)) synchronize(gpu);
  two.compute();
  for (const int replica : {0, 1})
    for (const std::size_t range : {0U, 1U, 2U}) two.add(replica, range);
  for (const int replica : {0, 1}) two.exchange.join(replica);
  EXPECT_EQ(two.gradients(0), std::vector<float>(64, 3));
}

TEST(BucketExchange, RangesThatNobodyCameWithAreABrokenInvariant) {
  Exchange two(2);
  for (const std::size_t range : {0U, 1U}) two.add(0, range);
  two.add(1, 0);
  EXPECT_THROW(two.exchange.join(0), BrokenInvariant);
}

TEST(BucketExchange, RangesThatEndBehindTheGradientsAreRefused) {
  Exchange two(2);
  for (const int replica : {0, 1}) {
    two.add(replica, 0);
    two.add(replica, 1, replica == 0 ? 48 : 16 + 128);
    two.add(replica, 2);
  }
  const std::string error = test::error_of<BrokenInvariant>([&] { two.exchange.join(0); });
  EXPECT_THAT(error, AllOf(HasSubstr("the reduction of gradients on GPU:1 is given 512 bytes at"),
                           HasSubstr("of which 64 are behind its end")));
}

TEST(BucketExchange, GradientsThatChangeAfterTheyWereFinalAreRefused) {
  Exchange two(2);
  for (const std::size_t range : {0U, 1U, 2U}) two.add(0, range);
  two.compute(0);
  for (const std::size_t range : {0U, 1U, 2U}) two.add(1, range);
  const std::string error = test::error_of<BrokenInvariant>([&] { two.exchange.join(0); });
  EXPECT_THAT(
      error,
      AllOf(HasSubstr("the reduction of gradients on GPU:0"),
            HasSubstr("in its communication stream, which waits for no event after the use by its compute stream")));
}

TEST(BucketExchange, GradientsAreNotComputedWithBeforeAReplicaJoins) {
  Exchange two(2);
  for (const int replica : {0, 1})
    for (const std::size_t range : {0U, 1U, 2U}) two.add(replica, range);
  EXPECT_THAT(two.enqueued(), ElementsAre(16, 32, 16));
  EXPECT_THAT(test::error_of<BrokenInvariant>([&] { two.compute(1); }),
              HasSubstr("in its compute stream, which waits for no event after the use by its communication stream"));
  two.exchange.join(1);
  EXPECT_NO_THROW(two.compute(1));
}

TEST(BucketExchange, SumsWhateverTheThreadsDo) {
  constexpr int replicas = 4;
  Exchange four(replicas);
  for (unsigned step = 0; step < 50; ++step) {
    std::vector<std::jthread> threads;
    for (int replica = 0; replica < replicas; ++replica)
      threads.emplace_back([&four, replica, step] {
        four.compute(static_cast<std::size_t>(replica));
        std::vector<std::size_t> order{0, 1, 2};
        std::shuffle(order.begin(), order.end(), std::mt19937(step * replicas + static_cast<unsigned>(replica)));
        for (const std::size_t range : order) four.add(replica, range);
      });
    threads.clear();
    EXPECT_THAT(four.enqueued(), ElementsAre(16, 32, 16));
    for (int replica = 0; replica < replicas; ++replica) {
      four.exchange.join(replica);
      EXPECT_EQ(four.gradients(replica), std::vector<float>(64, 10));
    }
  }
}

}  // namespace
}  // namespace lockstep
