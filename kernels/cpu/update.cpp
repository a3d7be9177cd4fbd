#include <algorithm>
#include <cstring>

#include <lockstep/kernels/common/optimizer.h>
#include <lockstep/kernels/common/reduction.h>
#include <lockstep/kernels/cpu/cpu_backend.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

// A range is worked through in tiles that stay in the first-level cache between the passes over them, so that main
// memory sees each array once, however many replicas there are. An element's result does not depend on its tile.
constexpr std::int64_t tile = 1024;
constexpr std::int64_t grain = 32768;

/// Calls body(first, n) for every tile of [0, count).
template <class Body>
void for_each_tile(std::int64_t count, const Body& body) {
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += tile) body(first, std::min(tile, end - first));
  });
}

/// out[i] = in[0][first + i] op in[1][first + i] op ...
template <class F>
void combine_replicas(F f, std::span<const float* const> in, std::int64_t first, std::int64_t n, float* out) {
  if (in.size() == 1) {
    std::copy_n(in[0] + first, n, out);
    return;
  }
  const float* a = in[0] + first;
  const float* b = in[1] + first;
  for (std::int64_t i = 0; i < n; ++i) out[i] = f.combine(a[i], b[i]);
  for (std::size_t r = 2; r < in.size(); ++r) {
    const float* next = in[r] + first;
    for (std::int64_t i = 0; i < n; ++i) out[i] = f.combine(out[i], next[i]);
  }
}

void write_copies(const float* values, std::span<float* const> out, std::int64_t first, std::int64_t n) {
  for (float* const copy : out) std::memcpy(copy + first, values, static_cast<std::size_t>(n) * sizeof(float));
}

template <class F>
void reduce_with(F f, const ReduceViews& views) {
  const auto replicas = static_cast<float>(views.in.size());
  for_each_tile(views.count, [&](std::int64_t first, std::int64_t n) {
    float result[tile];
    combine_replicas(f, views.in, first, n, result);
    for (std::int64_t i = 0; i < n; ++i) result[i] = f.finish(result[i], replicas);
    write_copies(result, views.out, first, n);
  });
}

/// One pass of an optimizer: step(w, gradients, first, n) makes a tile's new parameters from the old ones, in place.
template <class Step>
void update_with(const UpdateViews& views, const Step& step) {
  for_each_tile(views.count, [&](std::int64_t first, std::int64_t n) {
    float gradient[tile];
    float w[tile];
    combine_replicas(SumOfReplicas{}, views.gradients, first, n, gradient);
    std::copy_n(views.parameters[0] + first, n, w);
    step(w, gradient, first, n);
    write_copies(w, views.parameters, first, n);
  });
}

void check_views(const char* rule, const UpdateViews& views, std::size_t slots) {
  require(!views.gradients.empty() && !views.parameters.empty(),
          "{} needs at least one replica's gradients and parameters, got {} and {}", rule, views.gradients.size(),
          views.parameters.size());
  require(views.state.size() == slots, "{} keeps {} state slots for a parameter, got {}", rule, slots,
          views.state.size());
}

}  // namespace

void CpuBackend::reduce(ReduceOp op, const ReduceViews& views) {
  require(!views.in.empty(), "a reduction needs at least one replica's values");
  switch (op) {
    case ReduceOp::sum:
      return reduce_with(SumOfReplicas{}, views);
    case ReduceOp::mean:
      return reduce_with(MeanOfReplicas{}, views);
    case ReduceOp::max:
      return reduce_with(MaxOfReplicas{}, views);
    case ReduceOp::min:
      return reduce_with(MinOfReplicas{}, views);
  }
}

void CpuBackend::update(const SgdStep& step, const UpdateViews& views) {
  const bool has_velocity = step.momentum != 0.0F;
  check_views("SGD", views, has_velocity ? 1 : 0);
  const SgdRule rule(step);
  if (!has_velocity) {
    update_with(views, [&](float* w, const float* gradient, std::int64_t, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) w[i] = rule(w[i], gradient[i]);
    });
    return;
  }
  update_with(views, [&](float* w, const float* gradient, std::int64_t first, std::int64_t n) {
    float* velocity = views.state[0] + first;
    for (std::int64_t i = 0; i < n; ++i) w[i] = rule(w[i], gradient[i], velocity[i]);
  });
}

void CpuBackend::update(const AdamStep& step, const UpdateViews& views) {
  require(step.t >= 1, "Adam counts its steps from 1, got step {}", step.t);
  check_views("Adam", views, 2);
  const AdamRule rule(step);
  update_with(views, [&](float* w, const float* gradient, std::int64_t first, std::int64_t n) {
    float* m = views.state[0] + first;
    float* v = views.state[1] + first;
    for (std::int64_t i = 0; i < n; ++i) w[i] = rule(w[i], gradient[i], m[i], v[i]);
  });
}

}  // namespace lockstep
