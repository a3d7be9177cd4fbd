#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/strategy/verify/verify.h>

namespace lockstep::test {

/// One parameter under a rule in double precision: advance(w, g, t) gives the new w; t counts from 1.
using ReferenceRule = std::function<double(double w, double g, std::int64_t t)>;

/// Gradient `element` of step `t` on one replica. Their sizes range over six decades, so that Adam's epsilon matters.
inline float gradient_of(int replica, std::int64_t t, std::int64_t element) {
  const auto phase = static_cast<double>(element + 7 * t + 3 * replica);
  return static_cast<float>(std::sin(phase) * std::pow(10.0, -static_cast<double>(element % 7)));
}

/// Takes `steps` steps from `start` with every number of replicas and compares every copy with the rule applied to the
/// replicas' summed gradients. Each step rounds a few times: errors grow as those of a sum of `steps` terms, whose
/// magnitude is how far the parameter has moved, step by step, and where it has been.
inline void expect_steps_as(const std::function<Optimizer()>& make_optimizer,
                            const std::function<ReferenceRule()>& make_rule, double start, std::int64_t steps = 50) {
  constexpr std::int64_t elements = 21;
  for (const int replicas : replica_counts) {
    const MirroredStrategy strategy = mirrored(replicas);
    const Variable v = strategy.scope([&] { return variable_of("v", Tensor::full({elements}, start)); });
    const Optimizer optimizer = make_optimizer();
    for (std::int64_t t = 1; t <= steps; ++t)
      strategy.run([&] {
        std::vector<float> gradient;
        for (std::int64_t i = 0; i < elements; ++i) gradient.push_back(gradient_of(this_replica(), t, i));
        optimizer.apply_gradients(std::vector{Tensor::from(gradient, {elements})}, {v});
      });
    verify_mirrored(std::vector{v});
    for (std::int64_t i = 0; i < elements; ++i) {
      const ReferenceRule rule = make_rule();
      double w = static_cast<float>(start);
      double magnitude = std::abs(w);
      for (std::int64_t t = 1; t <= steps; ++t) {
        double sum = 0;
        double unsigned_sum = 0;
        for (int replica = 0; replica < replicas; ++replica) {
          sum += gradient_of(replica, t, i);
          unsigned_sum += std::abs(gradient_of(replica, t, i));
        }
        const double next = rule(w, sum, t);
        magnitude += std::abs(next - w) * (sum == 0 ? 1 : unsigned_sum / std::abs(sum));
        w = next;
      }
      EXPECT_NEAR(v.value().span<float>()[static_cast<std::size_t>(i)], w, tolerance(DType::f32, steps, magnitude))
          << "element " << i << " on " << replicas << " replicas";
    }
  }
}

}  // namespace lockstep::test
