#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/pretend_gpu/pretend_cuda.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/losses/cross_entropy.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/optimizers/adam.h>
#include <lockstep/models/training/model.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

// One replica's device fails at some call of a step: the step must end with one line that names call, replica and op.

namespace lockstep::test {
namespace {

/// A custom training loop over two replicas on devices of this kind.
class Training {
 public:
  explicit Training(const std::vector<LogicalDevice>& devices)
      : strategy_(devices),
        model_(make_model()),
        images_(strategy_.run([] {
          return random_tensor({4, 6, 6, 3}, 1);
        })),
        labels_(strategy_.run([] {
          return Tensor::from(std::vector<std::int64_t>{0, 1, 2, 0}, {4});
        })) {}

  void step() const {
    strategy_.run(
        [&](const Tensor& images, const Tensor& labels) {
          GradientTape tape;
          const Tensor loss = mean(sparse_softmax_cross_entropy(model_(images, Mode::train), labels));
          get_replica_context().all_reduce(ReduceOp::mean, loss);
          optimizer_.minimize(tape, loss, model_.trainable_variables());
        },
        images_, labels_);
  }

 private:
  Model make_model() const {
    const auto inside = strategy_.scope();
    const Symbol image = Input({6, 6, 3});
    const Symbol x = BatchNormalization()(Conv2D({.filters = 4, .kernel_size = {3, 3}})(image));
    return Model(image, Dense({.units = 3})(Flatten()(x)), {.seed = 5});
  }

  const MirroredStrategy strategy_;
  const Model model_;
  const PerReplica<Tensor> images_, labels_;
  const Adam optimizer_{{.learning_rate = 0.05}};
};

/// The op that an error names after the replica and, in a model's forward pass, the layer; fails the test if there is
/// none.
std::string op_in(const std::string& error, const std::string& replica, const std::string& call) {
  const std::string where = replica + ": ";
  EXPECT_THAT(error, testing::StartsWith(where));
  EXPECT_THAT(error, testing::HasSubstr(call));
  std::string rest = error.substr(std::min(where.size(), error.size()));
  if (rest.starts_with("layer '")) rest = rest.substr(rest.find("': ") + 3);
  const std::string op = rest.substr(0, rest.find(": "));
  EXPECT_THAT(op, testing::MatchesRegex("(gradient of )?[a-z0-9_]+|gradient of the target|the optimizer's step"))
      << error;
  return op;
}

TEST(DeviceOfAReplica, ThatFailsALaunchIsNamedWithCallAndOp) {
  const std::vector<LogicalDevice> gpus = logical_gpus(4);  // two of them share a physical GPU
  const Training training(gpus);
  training.step();
  std::set<std::string> ops;
  for (std::int64_t first = 1;; ++first) {
    pretend_cuda()->fail_work(gpus[1].index, first);
    try {
      training.step();
      break;
    } catch (const DeviceError& error) {
      ops.insert(op_in(error.what(), "replica 1 (GPU:1)", " failed on GPU:1: invalid configuration argument"));
    }
  }
  pretend_cuda()->fail_work(gpus[1].index, 0);
  training.step();
  for (const char* op : {"conv2d", "batch_norm", "dense", "sparse_softmax_cross_entropy", "all_reduce",
                         "gradient of conv2d", "gradient of batch_norm", "gradient of dense", "gradient of mean",
                         "gradient of sparse_softmax_cross_entropy", "the optimizer's step"})
    EXPECT_THAT(ops, testing::Contains(op));
}

TEST(DeviceOfAReplica, ThatHasNoMemoryIsNamedWithTheOp) {
  const std::vector<LogicalDevice> cpus = logical_cpus(2);
  const Training training(cpus);
  training.step();
  CachingAllocator& second = allocator(cpus[1]);
  std::set<std::string> ops;
  for (std::size_t more = 512;; more += 512) {
    second.set_memory_limit(second.stats().bytes_in_use + more);
    try {
      training.step();
      break;
    } catch (const OutOfMemory& error) {
      ops.insert(op_in(error.what(), "replica 1 (CPU:1)", ": CPU:1 has no room for "));
    }
  }
  second.set_memory_limit(0);
  EXPECT_THAT(ops, testing::Contains("conv2d"));  // whose scratch memory is the largest where it has any
}

}  // namespace
}  // namespace lockstep::test
