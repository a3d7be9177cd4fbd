#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/kernels/reduction/reduce_functions.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/step_functions.h>
#include <lockstep/kernels/update/update.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Reductions and optimizer steps on flat memory of several replicas, for any executor.

namespace lockstep::kernels {

namespace detail {

/// Maximum number of replicas whose pointers one kernel takes as arguments; for more replicas, several kernels run.
constexpr int most_pointers = 64;

template <class T>
struct Pointers {
  explicit Pointers(std::span<T* const> all) : count(static_cast<int>(all.size())) {
    std::copy(all.begin(), all.end(), of);
  }

  T* of[most_pointers] = {};
  int count;
};

/// Removes the first pointers of a list, at most `most_pointers`, and returns them.
template <class T>
Pointers<T> take(std::span<T* const>& list) {
  const auto taken = list.first(std::min<std::size_t>(list.size(), most_pointers));
  list = list.subspan(taken.size());
  return Pointers<T>(taken);
}

/// Whether all pointers are aligned to the widest access.
template <class T>
bool in_packs(std::span<T* const> pointers) {
  return std::ranges::all_of(pointers, [](T* pointer) { return kernels::in_packs<pack_of<T>, T>({pointer}); });
}

/// Combines the replicas' values of element i in order, beginning with start[i] unless `start` is null.
template <class T, class F>
LOCKSTEP_HOST_DEVICE Accumulator<T> combined(const F& f, const Pointers<const T>& in, const Accumulator<T>* start,
                                             Index i) {
  using A = Accumulator<T>;
  A value = static_cast<A>(in.of[0][i]);
  if (start != nullptr) value = f.combine(start[i], value);
  for (int r = 1; r < in.count; ++r) value = f.combine(value, static_cast<A>(in.of[r][i]));
  return value;
}

/// Combines one group of at most most_pointers replicas with `start`, the result of the preceding groups. Reduced
/// combines the last group.
template <class T, class F>
struct PartlyCombined {
  F f;
  Pointers<const T> in;
  const Accumulator<T>* start;
  Accumulator<T>* out;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { out[i] = combined<T>(f, in, start, i); }
};

template <class T, class F>
struct Reduced {
  F f;
  Pointers<const T> in;
  const Accumulator<T>* start;
  Accumulator<T> terms;
  Pointers<T> out;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const T result = static_cast<T>(f.finish(combined<T>(f, in, start, i), terms));
    for (int k = 0; k < out.count; ++k) out.of[k][i] = result;
  }
};

template <class T>
struct Copied {
  const T* from;
  Pointers<T> to;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    for (int k = 0; k < to.count; ++k) to.of[k][i] = from[i];
  }
};

/// Copies the result `from` to the copies `rest`, whose pointers did not fit into the arguments of the kernel that
/// computed it.
template <class T, class Executor>
void copy_to_rest(Executor& on, const T* from, std::span<T* const> rest, Index count) {
  while (!rest.empty()) on.for_each(count, Copied<T>{from, take(rest)});
}

/// Updates a pack of neighboring elements at a time.
template <class Rule>
struct UpdatedElements {
  static constexpr int pack = pack_of<float>;

  Rule rule;
  StepOptions step;
  Pointers<const float> gradients;
  Pointers<float> parameters;
  float* state[Rule::slots + 1];  ///< the average comes last
  bool averages, overwrites;
  Index n;
  bool packed;

  /// Number of calls of operator(): one per pack if `packed`, else one per element.
  Index items() const { return packed ? (n + pack - 1) / pack : n; }

  LOCKSTEP_HOST_DEVICE void operator()(Index item) const {
    constexpr auto slots = std::make_index_sequence<Rule::slots>();
    if (!packed) return run<1>(item, slots);
    const Index first = item * pack;
    if (first + pack <= n) return run<pack>(first, slots);
    for (Index i = first; i < n; ++i) run<1>(i, slots);
  }

  /// Updates the elements from `first` on.
  template <int elements, std::size_t... Slot>
  LOCKSTEP_HOST_DEVICE void run(Index first, std::index_sequence<Slot...>) const {
    float gradient[elements], w[elements];
    [[maybe_unused]] float kept[Rule::slots + 1][elements];
    load_elements(gradients.of[0] + first, gradient);
    load_elements(parameters.of[0] + first, w);
    (load_elements(state[Slot] + first, kept[Slot]), ...);
    for (int r = 1; r < gradients.count; ++r) {
      float next[elements];
      load_elements(gradients.of[r] + first, next);
      for (int l = 0; l < elements; ++l) gradient[l] = SumOfReplicas{}.combine(gradient[l], next[l]);
    }
    for (int l = 0; l < elements; ++l)
      w[l] = rule(decayed(step, w[l]), scaled_and_clipped(step, gradient[l]), kept[Slot][l]...);
    (store_elements(kept[Slot], state[Slot] + first), ...);
    if (averages) {
      float average[elements];
      load_elements(state[Rule::slots] + first, average);
      for (int l = 0; l < elements; ++l) average[l] = averaged(step, average[l], w[l]);
      store_elements(average, state[Rule::slots] + first);
      for (int l = 0; l < elements; ++l) w[l] = overwrites ? average[l] : w[l];
    }
    for (int k = 0; k < parameters.count; ++k) store_elements(w, parameters.of[k] + first);
  }
};

template <class T, class F, class Executor>
void reduce_with(Executor& on, const F& f, const ReduceViews<T>& views) {
  using A = Accumulator<T>;
  std::span<const T* const> in = views.in;
  Tensor partial;
  A* start = nullptr;
  while (in.size() > most_pointers) {
    if (!partial.defined()) partial = Tensor::empty(Shape{views.count}, dtype_of<A>);
    A* const sum = partial.data<A>();
    on.for_each(views.count, PartlyCombined<T, F>{f, take(in), start, sum});
    start = sum;
  }
  std::span<T* const> out = views.out;
  const auto last = take(in);
  const auto first = take(out);
  on.for_each(views.count, Reduced<T, F>{f, last, start, static_cast<A>(mean_terms(views)), first});
  if (!out.empty()) copy_to_rest<T>(on, first.of[0], out, views.count);
}

/// Runs kernels::Update with the rule of a functor (element_rule.h).
template <class Rule, class Executor>
void update_elements(Executor& on, const Rule& rule, const StepOptions& step, const UpdateViews& views) {
  Tensor sum;
  const float* summed = nullptr;
  std::span<const float* const> gradients = views.gradients;
  if (gradients.size() > most_pointers) {
    sum = Tensor::empty(Shape{views.count});
    float* const out = sum.data<float>();
    reduce_with<float>(on, SumOfReplicas{}, {.in = gradients, .out = {&out, 1}, .count = views.count});
    summed = out;
    gradients = {&summed, 1};
  }
  std::span<float* const> parameters = views.parameters;
  const bool averages = step.average != StepOptions::Average::none;
  const bool overwrites = step.average == StepOptions::Average::overwrite;
  const bool packed = in_packs(gradients) && in_packs(parameters) && in_packs(views.state);
  UpdatedElements<Rule> f{rule, step, take(gradients), take(parameters), {}, averages, overwrites, views.count, packed};
  std::copy(views.state.begin(), views.state.end(), f.state);
  on.for_each(f.items(), f);
  copy_to_rest<float>(on, f.parameters.of[0], parameters, views.count);
}

}  // namespace detail

}  // namespace lockstep::kernels
