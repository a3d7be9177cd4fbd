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
template <class T, class F>
void combine_replicas(F f, std::span<const T* const> in, std::int64_t first, std::int64_t n, Accumulator<T>* out) {
  using A = Accumulator<T>;
  const T* a = in[0] + first;
  if (in.size() == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<A>(a[i]);
    return;
  }
  const T* b = in[1] + first;
  for (std::int64_t i = 0; i < n; ++i) out[i] = f.combine(static_cast<A>(a[i]), static_cast<A>(b[i]));
  for (std::size_t r = 2; r < in.size(); ++r) {
    const T* next = in[r] + first;
    for (std::int64_t i = 0; i < n; ++i) out[i] = f.combine(out[i], static_cast<A>(next[i]));
  }
}

template <class T>
void write_copies(const T* values, std::span<T* const> out, std::int64_t first, std::int64_t n) {
  for (T* const copy : out) std::memcpy(copy + first, values, static_cast<std::size_t>(n) * sizeof(T));
}

template <class T>
void reduce_replicas(ReduceOp op, const ReduceViews<T>& views) {
  require(!views.in.empty(), "a reduction needs at least one replica's values");
  check_reducible(op, dtype_of<T>);
  using A = Accumulator<T>;
  const auto terms = static_cast<A>(views.terms > 0 ? views.terms : static_cast<std::int64_t>(views.in.size()));
  visit_reduce(op, [&](auto f) {
    for_each_tile(views.count, [&](std::int64_t first, std::int64_t n) {
      A combined[tile];
      T result[tile];
      combine_replicas<T>(f, views.in, first, n, combined);
      for (std::int64_t i = 0; i < n; ++i) result[i] = static_cast<T>(f.finish(combined[i], terms));
      write_copies<T>(result, views.out, first, n);
    });
  });
}

/// One pass of an optimizer: step(w, gradients, first, n) makes a tile's new parameters from the old ones, in place.
template <class Step>
void update_with(const UpdateViews& views, const Step& step) {
  for_each_tile(views.count, [&](std::int64_t first, std::int64_t n) {
    float gradient[tile];
    float w[tile];
    combine_replicas<float>(SumOfReplicas{}, views.gradients, first, n, gradient);
    std::copy_n(views.parameters[0] + first, n, w);
    step(w, gradient, first, n);
    write_copies<float>(w, views.parameters, first, n);
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

void CpuBackend::reduce(ReduceOp op, const ReduceViews<float>& views) { reduce_replicas(op, views); }
void CpuBackend::reduce(ReduceOp op, const ReduceViews<bfloat16>& views) { reduce_replicas(op, views); }
void CpuBackend::reduce(ReduceOp op, const ReduceViews<std::int32_t>& views) { reduce_replicas(op, views); }
void CpuBackend::reduce(ReduceOp op, const ReduceViews<std::int64_t>& views) { reduce_replicas(op, views); }

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
