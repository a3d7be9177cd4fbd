#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <support/replicas.h>
#include <support/tensors.h>

#include <lockstep/models/optimizers/optimizer.h>
#include <lockstep/strategy/strategies/verify.h>

// Reference implementations of Keras' optimizers in double precision.

namespace lockstep::test {

using Values = std::vector<double>;

/// Updates one parameter by a rule: advance(w, g, t) returns the new w; t counts updates from 1.
using ReferenceRule = std::function<double(double w, double g, std::int64_t t)>;

/// Does the work of keras/src/optimizers/base_optimizer.py around a rule, for two variables.
struct KerasReference {
  std::function<ReferenceRule()> rule;            ///< creates the rule of a parameter
  std::function<double(std::int64_t step)> rate;  ///< learning rate, for weight decay and for `by_norms`
  OptimizerOptions options{};
  bool by_norms = false;  ///< the rule returns a direction, which LAMB's ratio of norms scales
};

/// Gradient of `element` in step `t` on one replica. Magnitudes range over six decades, so that epsilons matter.
inline float gradient_of(int replica, std::int64_t t, std::int64_t element) {
  const auto phase = static_cast<double>(element + 7 * t + 3 * replica);
  return static_cast<float>(std::sin(phase) * std::pow(10.0, -static_cast<double>(element % 7)));
}

namespace detail {

inline constexpr std::int64_t sizes[] = {21, 6};  ///< sizes of the two variables, "kernel" and "bias"
inline constexpr std::int64_t elements = 27;

inline double norm(const Values& values, std::size_t begin, std::size_t end) {
  double square = 0;
  for (std::size_t i = begin; i < end; ++i) square += values[i] * values[i];
  return std::sqrt(square);
}

/// Begin and end of variable `v` among all elements.
inline std::pair<std::size_t, std::size_t> range(std::size_t v) {
  return v == 0 ? std::pair<std::size_t, std::size_t>{0, 21} : std::pair<std::size_t, std::size_t>{21, 27};
}

inline void clip(const OptimizerOptions& options, Values& g) {
  if (options.clipvalue > 0)
    for (double& x : g) x = std::clamp(x, -options.clipvalue, options.clipvalue);
  for (std::size_t v = 0; v < 2; ++v) {
    const auto [begin, end] = range(v);
    const double limit = options.clipnorm > 0 ? options.clipnorm : options.global_clipnorm;
    if (limit == 0) continue;
    const double length = options.clipnorm > 0 ? norm(g, begin, end) : norm(g, 0, g.size());
    if (options.clipnorm > 0 || v == 0)
      for (std::size_t i = begin; i < (options.clipnorm > 0 ? end : g.size()); ++i)
        g[i] *= limit / std::max(length, limit);
  }
}

/// Updates both variables, and keeps their averages.
class Reference {
 public:
  explicit Reference(const KerasReference& keras) : keras_(keras) {
    for (std::int64_t i = 0; i < elements; ++i) rules_.push_back(keras.rule());
  }

  void update(Values& w, Values g, std::int64_t t, std::int64_t step) {
    clip(keras_.options, g);
    for (std::size_t v = 0; v < 2; ++v) {
      const auto [begin, end] = range(v);
      const bool decays = v == 0 || keras_.options.exclude_from_weight_decay.empty();
      for (std::size_t i = begin; i < end && decays; ++i)
        w[i] -= w[i] * keras_.options.weight_decay * keras_.rate(step);
      Values next(w);
      for (std::size_t i = begin; i < end; ++i) next[i] = rules_[i](w[i], g[i], t);
      const double directions = norm(next, begin, end);
      const double ratio = norm(w, begin, end) > 0 && directions > 0 ? norm(w, begin, end) / directions : 1;
      for (std::size_t i = begin; i < end; ++i)
        w[i] = keras_.by_norms ? w[i] - keras_.rate(step) * ratio * next[i] : next[i];
    }
  }

  /// Ends a step towards update `t`, which may only have accumulated gradients.
  void move_average(Values& w, std::int64_t t) {
    if (!keras_.options.use_ema) return;
    const double momentum = t == 1 ? 0 : keras_.options.ema_momentum;
    average_.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) average_[i] = momentum * average_[i] + (1 - momentum) * w[i];
    const int frequency = keras_.options.ema_overwrite_frequency;
    if (frequency > 0 && t % frequency == 0) w = average_;
  }

  const Values& average() const { return average_; }

 private:
  KerasReference keras_;
  std::vector<ReferenceRule> rules_;
  Values average_;
};

inline Tensor gradient_of(std::size_t variable, std::int64_t t) {
  std::vector<float> values;
  for (auto [i, end] = range(variable); i < end; ++i)
    values.push_back(test::gradient_of(this_replica(), t, static_cast<std::int64_t>(i)));
  return Tensor::from(values, {sizes[variable]});
}

}  // namespace detail

/// Takes `steps` steps from `start` with every number of replicas, and compares every copy with the rule applied to the
/// replicas' summed gradients. Each step rounds a few times, so the tolerance is that of a sum of `steps` terms whose
/// magnitude is the initial value plus the distance that the parameter has moved.
inline void expect_steps_as(const std::function<Optimizer()>& make_optimizer, const KerasReference& keras, double start,
                            std::int64_t steps = 50) {
  for (const int replicas : replica_counts) {
    const MirroredStrategy strategy = mirrored(replicas);
    const std::vector<Variable> variables = strategy.scope([&] {
      return std::vector{variable_of("kernel", Tensor::full({detail::sizes[0]}, start)),
                         variable_of("bias", Tensor::full({detail::sizes[1]}, start))};
    });
    const Optimizer optimizer = make_optimizer();
    for (std::int64_t t = 1; t <= steps; ++t)
      strategy.run([&] {
        optimizer.apply_gradients(std::vector{detail::gradient_of(0, t), detail::gradient_of(1, t)}, variables);
      });
    verify_mirrored(variables);

    detail::Reference reference(keras);
    const int k = keras.options.gradient_accumulation_steps;
    Values w(static_cast<std::size_t>(detail::elements), static_cast<float>(start));
    Values moved(w.size(), std::abs(start));
    double cancellation = 1;  // ratio of the replicas' gradients to their sum
    Values sum(w.size());
    for (std::int64_t t = 1; t <= steps; ++t) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        double of_step = 0;
        double magnitude = 0;
        for (int replica = 0; replica < replicas; ++replica) {
          of_step += gradient_of(replica, t, static_cast<std::int64_t>(i));
          magnitude += std::abs(gradient_of(replica, t, static_cast<std::int64_t>(i)));
        }
        sum[i] += of_step / k;
        if (of_step != 0) cancellation = std::max(cancellation, std::min(100.0, magnitude / std::abs(of_step)));
      }
      const Values before = w;
      if (t % k == 0) reference.update(w, std::exchange(sum, Values(w.size())), t / k, t - 1);
      reference.move_average(w, (t - 1) / k + 1);
      for (std::size_t i = 0; i < w.size(); ++i) moved[i] += std::abs(w[i] - before[i]);
    }
    const auto compare = [&](const char* what, const Values& expected) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t v = i < 21 ? 0 : 1;
        EXPECT_NEAR(variables[v].value().on_host().span<float>()[i - detail::range(v).first], expected[i],
                    tolerance(DType::f32, steps, moved[i] * cancellation))
            << what << " of element " << i << " on " << replicas << " replicas";
      }
    };
    compare("value", w);
    optimizer.finalize_variable_values();
    if (keras.options.use_ema) compare("average", reference.average());
  }
}

}  // namespace lockstep::test
