#include <gtest/gtest.h>

#if defined(LOCKSTEP_EMULATED_GPU)
#define LOCKSTEP_KERNELS_OF_GPUS  // also compiles the rules for the emulated GPU
#endif
#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/kernels/update/optimizer_rules.h>
#include <lockstep/kernels/update/update_kernels.h>

#include "update_parity.h"

namespace lockstep::test {
namespace {

// One pointer, some, as many as one launch accepts, and more than two launches accept.
const std::vector<std::size_t> replica_counts{1, 3, 64, 65, 150};

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
