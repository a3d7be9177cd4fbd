#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/devices.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/update/norm_limits.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/device_scope.h>

// Ops whose inputs are on another device than the one that the thread computes on.

namespace lockstep::test {
namespace {

/// During its lifetime, the thread computes on `device`: because of a DeviceScope, or because it is the thread's
/// device, as in a replica.
struct Computing {
  LogicalDevice device;
  bool placed;
  std::optional<DeviceScope> scope{};
  std::optional<ContextScope> context{};
  Computing(const LogicalDevice& on, bool is_placed) : device(on), placed(is_placed) {
    if (placed)
      scope.emplace(device);
    else
      context.emplace(context_on(device));
  }
};

struct Results {
  Tensor y;
  std::vector<Tensor> gradients;
};

/// Results of the op and its gradients, with inputs on `home` and the thread computing according to `computing`.
/// `destinations`: memory for the gradients, if any.
Results results_of(const OpCase& op, const LogicalDevice& home, const Computing& computing,
                   const std::optional<LogicalDevice>& destinations) {
  std::vector<Tensor> inputs;
  std::vector<GradientTape::Slot> slots;
  for (const Tensor& input : op.inputs) {
    inputs.push_back(to_device(input, home));
    slots.push_back({.source = inputs.back()});
    if (destinations) slots.back().destination = Tensor::empty(input.shape(), input.dtype(), *destinations);
  }
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  Results results{op.run(inputs), std::vector<Tensor>(inputs.size())};
  if (op.is_view) {
    EXPECT_EQ(results.y.device(), home);
  } else {
    EXPECT_TRUE(is_reachable(results.y, computing.device));
  }
  if (!op.has_gradient()) return results;
  tape.backward(sum(square(results.y)), slots, [&](int slot, const DenseOrSparse& gradient) {
    const auto i = static_cast<std::size_t>(slot);
    results.gradients[i] = std::get<Tensor>(gradient);
    if (!results.gradients[i].defined()) return;
    if (destinations) {
      EXPECT_EQ(results.gradients[i].raw_data(), slots[i].destination.raw_data());
    } else {
      EXPECT_TRUE(is_reachable(results.gradients[i], home)) << "input " << i;
    }
  });
  return results;
}

/// The op with this number; the second parameter selects a DeviceScope for the thread's device.
class OpOnAnotherDevice : public testing::TestWithParam<std::tuple<std::size_t, bool>> {
 protected:
  /// Expects the same results as with all tensors on the device that computes.
  void expect_same(const LogicalDevice& home, const LogicalDevice& computes) const {
    const OpCase& op = small_op_cases()[std::get<0>(GetParam())];
    const Computing computing(computes, std::get<1>(GetParam()));
    const Results expected = results_of(op, computes, computing, {});
    using Place = std::optional<LogicalDevice>;
    for (const Place& destinations : {Place(), Place(home), Place(computes)}) {
      SCOPED_TRACE(destinations ? "gradients wanted on " + destinations->name() : "gradients wanted anywhere");
      const Results results = results_of(op, home, computing, destinations);
      expect_same_wherever(op, results.y, expected.y);
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        ASSERT_EQ(results.gradients[i].defined(), expected.gradients[i].defined()) << "input " << i;
        if (expected.gradients[i].defined()) expect_same_wherever(op, results.gradients[i], expected.gradients[i]);
      }
    }
  }
};

TEST_P(OpOnAnotherDevice, OfTensorsOfADeviceOnTheHost) { expect_same(devices(2)[1], {}); }
TEST_P(OpOnAnotherDevice, OfTensorsOfTheHostOnADevice) { expect_same({}, devices(2)[1]); }
TEST_P(OpOnAnotherDevice, OfTensorsOfADeviceOnAnother) { expect_same(devices(2)[0], devices(2)[1]); }

INSTANTIATE_TEST_SUITE_P(Every, OpOnAnotherDevice,
                         testing::Combine(testing::Range(std::size_t{0}, small_op_cases().size()), testing::Bool()),
                         [](const auto& info) {
                           const std::string name = test_name(small_op_cases(), std::get<0>(info.param));
                           return name + (std::get<1>(info.param) ? "_placed" : "");
                         });

TEST(InPlaceOps, WorkWhereTheirTensorsAre) {
  const Tensor x = random_tensor({6, 4}, 1);
  for (const LogicalDevice& device : devices(2)) {
    const Tensor there = to_device(x, device);
    const Tensor here = x * 1;
    update_moving_averages({{there, random_tensor({6, 4}, 2), 0.5F}});
    update_moving_averages({{here, random_tensor({6, 4}, 2), 0.5F}});
    expect_same_bits(there, here);
    limit_norms(there, {0}, {.max_value = 0.1});
    limit_norms(here, {0}, {.max_value = 0.1});
    expect_close(there, here.to_vector<double>(), 6);
  }
}

}  // namespace
}  // namespace lockstep::test
