#include <gtest/gtest.h>

#if defined(LOCKSTEP_EMULATED_GPU)
#define LOCKSTEP_KERNELS_OF_GPUS  // also compiles the rules for the emulated GPU
#endif
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/kernels/update/optimizer_rules.h>
#include <lockstep/kernels/update/update_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// One pointer, some, as many as one launch accepts, and more than two launches accept.
const std::vector<std::size_t> replica_counts{1, 3, 64, 65, 150};

/// Pointers to the first elements of the tensors.
template <class T, class Pointer>
std::vector<Pointer> pointers(const Results& tensors) {
  std::vector<Pointer> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.data<T>());
  return result;
}

/// One tensor for each replica, in [1, 2) for real numbers, in [-100, 100) for integers.
Results of_replicas(std::size_t count, std::int64_t n, DType dtype, unsigned seed) {
  const bool whole = dtype == DType::i32 || dtype == DType::i64;
  Results result;
  for (std::size_t r = 0; r < count; ++r) {
    const Tensor values = whole ? random_tensor({n}, seed + static_cast<unsigned>(r), -100, 100)
                                : random_tensor({n}, seed + static_cast<unsigned>(r), 0.9, 1.1);
    result.push_back(Tensor::empty({n}, dtype));
    kernels::run_on_cpu(kernels::Convert{values, result.back()});
  }
  return result;
}

template <class T>
void check_reduce(ReduceOp op, std::size_t replicas, std::int64_t terms) {
  SCOPED_TRACE(fmt::format("{} of {} {}", name(op), replicas, name(dtype_of<T>)));
  for (const std::int64_t n : {0, 1, 37}) {
    const Results values = of_replicas(replicas, n, dtype_of<T>, 1);
    // In place, as the strategies do.
    expect_same(values, [&](const Runner& run, const Results& out) {
      const auto in = pointers<T, const T*>(out);
      const auto to = pointers<T, T*>(out);
      run(kernels::Reduce{op, ReduceViews<T>{.in = in, .out = to, .count = n, .terms = terms}});
    });
  }
}

TEST(GridUpdate, ReducesReplicas) {
  for (const std::size_t replicas : replica_counts)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod}) {
      check_reduce<float>(op, replicas, 0);
      check_reduce<bfloat16>(op, replicas, 7);
      if (op == ReduceOp::mean) continue;
      check_reduce<std::int32_t>(op, replicas, 0);
      check_reduce<std::int64_t>(op, replicas, 0);
    }
}

TEST(GridUpdate, RefusesWhatTheCpuRefuses) {
  const Runner grid(Source::shared);
  std::int32_t value = 1;
  const std::int32_t* const in = &value;
  std::int32_t* const out = &value;
  EXPECT_THROW(
      grid(kernels::Reduce{ReduceOp::mean, ReduceViews<std::int32_t>{.in = {&in, 1}, .out = {&out, 1}, .count = 1}}),
      InvalidArgument);
  EXPECT_THROW(grid(kernels::Reduce{ReduceOp::sum, ReduceViews<std::int32_t>{}}), InvalidArgument);
  EXPECT_THROW(grid(kernels::Update{SgdStep{}, UpdateViews{}}), InvalidArgument);
}

/// A step of each functor, with its name.
std::vector<std::pair<std::string, OptimizerStep>> steps() {
  std::vector<std::pair<std::string, OptimizerStep>> result{
      {"sgd", element_rule(SgdRule(SgdStep{}))},
      {"momentum", element_rule(MomentumRule(SgdStep{.momentum = 0.9F}))},
      {"nesterov", element_rule(MomentumRule(SgdStep{.momentum = 0.9F, .nesterov = true}))},
      {"adam", element_rule(AdamRule(AdamStep{.t = 3}))},
      {"amsgrad", element_rule(AmsgradRule(AdamStep{.amsgrad = true}))},
      {"rmsprop", element_rule(RmspropRule(RmspropStep{}))},
      {"centered rmsprop", element_rule(CenteredRmspropRule(RmspropStep{.centered = true}))},
      {"rmsprop with momentum", element_rule(RmspropMomentumRule(RmspropStep{.momentum = 0.8F}))},
      {"centered rmsprop with momentum",
       element_rule(CenteredRmspropMomentumRule(RmspropStep{.momentum = 0.8F, .centered = true}))},
      {"adagrad", element_rule(AdagradRule(AdagradStep{}))},
      {"lamb", element_rule(LambDirectionRule(LambDirectionStep{}))},
      {"assign", element_rule(AssignRule())}};
  OptimizerStep all = element_rule(AdamRule(AdamStep{}));
  all.gradient_scale = 0.5F;
  all.clip_value = 0.6F;
  all.decay = 0.01F;
  all.average = OptimizerStep::Average::keep;
  result.emplace_back("adam with an average", all);
  all.average = OptimizerStep::Average::overwrite;
  result.emplace_back("adam overwritten by an average", all);
  return result;
}

/// Updates all but the first `skipped` of 37 elements.
void check_update(const OptimizerStep& step, std::size_t replicas, std::int64_t skipped) {
  SCOPED_TRACE(fmt::format("{} replicas from element {}", replicas, skipped));
  const std::int64_t n = 37;
  const Results gradients = of_replicas(replicas, n, DType::f32, 1);
  Results before(replicas, random_tensor({n}, 500));
  // State as earlier steps would have left it: second moments are larger than the squared first moments.
  for (int slot = 0; slot < state_slots(step); ++slot) before.push_back(random_tensor({n}, 600U + slot, 0.1, 0.2));
  expect_same(before, [&](const Runner& run, const Results& out) {
    auto in = pointers<float, const float*>(gradients);
    auto all = pointers<float, float*>(out);
    for (const float*& pointer : in) pointer += skipped;
    for (float*& pointer : all) pointer += skipped;
    const std::span<float* const> memory(all);
    run(kernels::Update{step, UpdateViews{.gradients = in,
                                          .parameters = memory.first(replicas),
                                          .state = memory.subspan(replicas),
                                          .count = n - skipped}});
  });
}

TEST(GridUpdate, AppliesEveryRuleToEveryCopy) {
  for (const auto& [name, step] : steps()) {
    SCOPED_TRACE(name);
    for (const std::size_t replicas : replica_counts) check_update(step, replicas, 0);
  }
}

TEST(GridUpdate, UpdatesMisalignedMemory) {
  for (const auto& [name, step] : steps()) {
    SCOPED_TRACE(name);
    check_update(step, 3, 1);
  }
}

}  // namespace
}  // namespace lockstep::test
