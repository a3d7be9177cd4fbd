#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <kernels/grid/update_parity.h>

#include <lockstep/kernels/update/element_rule.h>
#include <lockstep/models/optimizers/keras_optimizers.h>

// Compares the CPU's source of the optimizers' formulas with the source that GPUs share.

namespace lockstep::test {
namespace {

/// Steps of the optimizers whose formulas are in their own headers, by the names of keras_optimizers.
std::map<std::string_view, std::vector<OptimizerStep>> steps() {
  const FtrlOptions ftrl{.l1_regularization_strength = 0.125,
                         .l2_regularization_strength = 0.25,
                         .l2_shrinkage_regularization_strength = 0.5,
                         .beta = 0.75};
  FtrlOptions cube_root = ftrl;
  cube_root.learning_rate_power = -1 / 3.0;
  return {{"adadelta", {element_rule(AdadeltaRule(0.1F, {}))}},
          {"adamax", {element_rule(AdamaxRule(0.1F, {}, 1)), element_rule(AdamaxRule(0.1F, {.beta_1 = 0.5}, 3))}},
          {"ftrl",
           {element_rule(FtrlRule<true>(0.1F, {})), element_rule(FtrlRule<true>(0.1F, ftrl)),
            element_rule(FtrlRule<false>(0.1F, cube_root))}},
          {"lion", {element_rule(LionRule(0.1F, {}))}},
          {"nadam", {element_rule(NadamRule(0.1F, {}, 1)), element_rule(NadamRule(0.1F, {.beta_1 = 0.5}, 3))}}};
}

TEST(RuleSources, OfEachOptimizerAgree) {
  for (const auto& [name, rules] : steps())
    for (const OptimizerStep& step : rules) {
      SCOPED_TRACE(name);
      for (const std::size_t replicas : {1, 3}) check_update(step, replicas, 0);
      check_update(step, 3, 1);
    }
}

TEST(RuleSources, HaveStepsOfEachOptimizer) {
  // tests/kernels/grid/update_test.cpp has steps of the first ones; the last two compute with ops.
  std::set<std::string_view> tested{"sgd", "adam", "adamw", "rmsprop", "adagrad", "lamb", "muon", "adafactor"};
  for (const auto& [name, rules] : steps()) tested.insert(name);
  std::set<std::string_view> all;
  std::apply([&](const auto&... optimizer) { (all.insert(optimizer.names[0]), ...); }, keras_optimizers);
  EXPECT_EQ(tested, all);
}

}  // namespace
}  // namespace lockstep::test
