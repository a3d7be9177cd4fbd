// Trainings whose gradients NCCL exchanges: on one GPU, where the sum is the gradient itself, and on all GPUs: real
// ones, or three of the pretended CUDA.

#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/small_problem.h>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/models/optimizers/muon.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep::test {
namespace {

struct Trained {
  std::vector<double> losses;  ///< by epoch
  std::vector<std::vector<double>> weights;
  friend bool operator==(const Trained&, const Trained&) = default;
};

/// Two buckets: the gradients of the second one are exchanged during the rest of backward.
Model wide_model(const Strategy& strategy) {
  return strategy.scope([] {
    const Symbol input = Input({8});
    const Symbol wide = Dense({.units = 512, .activation = Activation::relu})(input);
    const Symbol wider = Dense({.units = 600, .activation = Activation::relu})(wide);
    Model model(input, Dense({.units = 3})(wider), {.seed = 5});
    model.compile(SGD({.learning_rate = 0.05}), SparseCategoricalCrossentropy{{.from_logits = true}});
    return model;
  });
}

Trained trained(Model model, FitOptions options, std::int64_t examples = 96) {
  options.verify_every = 1;
  const History history = model.fit(SmallProblem(examples).dataset().batch(24), options);
  EXPECT_NO_THROW(verify_mirrored(model.variables()));
  return {history.values.at("loss"), weights_of(model)};
}

class NcclTraining : public testing::TestWithParam<int> {
 protected:
  MirroredStrategy strategy(CrossDeviceOps ops = CrossDeviceOps::nccl, DType wire_dtype = DType::f32) const {
    return MirroredStrategy(logical_gpus(gpus_), {.cross_device_ops = ops, .wire_dtype = wire_dtype});
  }
  const int gpus_ = std::min(GetParam(), gpu_platform().count());
};

INSTANTIATE_TEST_SUITE_P(Of, NcclTraining, testing::Values(1, 8),
                         [](const auto& info) { return info.param == 1 ? "OneGpu" : "AllGpus"; });

TEST_P(NcclTraining, OfOneGpuHasTheBitsOfItsOwnGradients) {
  const Trained exchanged = trained(wide_model(strategy()), {.epochs = 2});
  const Trained expected = trained(wide_model(strategy(CrossDeviceOps::shared_memory)), {.epochs = 2});
  if (gpus_ == 1) {
    EXPECT_EQ(exchanged, expected);
  }
  for (std::size_t epoch = 0; epoch < expected.losses.size(); ++epoch)
    EXPECT_NEAR(exchanged.losses[epoch], expected.losses[epoch], 1e-4) << "epoch " << epoch;
}

TEST_P(NcclTraining, MeansOfEqualValuesAreTheseValues) {
  const MirroredStrategy replicas = strategy();
  const Tensor values = random_tensor({100'003}, 1);  // NCCL 2.28.9 omits the last three values of one rank's mean
  const PerReplica<Tensor> means =
      replicas.run([&] { return get_replica_context().all_reduce(ReduceOp::mean, to_current_device(values)); });
  for (const Tensor& mean : means.local_results()) expect_close(mean, values.to_vector<double>());
}

// Each GPU updates its own copy of whole matrices; fit verifies that the copies stay equal.
TEST_P(NcclTraining, OfAnOptimizerThatComputesVariablesIsThatOfSharedMemory) {
  const auto with_muon = [](const Strategy& strategy) {
    Model model = small_model(strategy);
    model.compile(Muon({.learning_rate = 0.01}), SparseCategoricalCrossentropy{{.from_logits = true}});
    return model;
  };
  const Trained exchanged = trained(with_muon(strategy()), {.epochs = 3});
  const Trained expected = trained(with_muon(strategy(CrossDeviceOps::shared_memory)), {.epochs = 3});
  for (std::size_t epoch = 0; epoch < expected.losses.size(); ++epoch)
    EXPECT_NEAR(exchanged.losses[epoch], expected.losses[epoch], 1e-4) << "epoch " << epoch;
}

TEST_P(NcclTraining, HasTheSameBitsWithCudaGraphs) {
  EXPECT_EQ(trained(wide_model(strategy()), {.epochs = 3, .cuda_graphs = true}),
            trained(wide_model(strategy()), {.epochs = 3}));
}

TEST_P(NcclTraining, KeepsTheCurveOfTheLossWithABf16Wire) {
  const Trained exact = trained(small_model(strategy()), {.epochs = 6}, 240);
  for (const bool cuda_graphs : {false, true}) {
    const Trained rounded = trained(small_model(strategy(CrossDeviceOps::nccl, DType::bf16)),
                                    {.epochs = 6, .cuda_graphs = cuda_graphs}, 240);
    EXPECT_NE(rounded.weights, exact.weights);
    for (std::size_t epoch = 0; epoch < exact.losses.size(); ++epoch)
      EXPECT_NEAR(rounded.losses[epoch], exact.losses[epoch], 0.02 * exact.losses.front()) << "epoch " << epoch;
  }
}

/// Replicas that may all share one GPU, and then combine their values without NCCL.
class LogicalReplicas : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Of, LogicalReplicas, testing::Values(2, 4, 8), testing::PrintToStringParamName());

TEST_P(LogicalReplicas, OfSharedGpusStayMirroredAndTrainAsOne) {
  const MirroredStrategy one(logical_gpus(1));
  const MirroredStrategy several(logical_gpus(GetParam()), {.cross_device_ops = CrossDeviceOps::shared_memory});
  const Trained expected = trained(small_model(one), {.epochs = 4}, 240);
  for (const bool cuda_graphs : {false, true}) {
    const Trained found = trained(small_model(several), {.epochs = 4, .cuda_graphs = cuda_graphs}, 240);
    for (std::size_t epoch = 0; epoch < expected.losses.size(); ++epoch)
      EXPECT_NEAR(found.losses[epoch], expected.losses[epoch], 1e-4) << "epoch " << epoch;
  }
}

}  // namespace
}  // namespace lockstep::test
