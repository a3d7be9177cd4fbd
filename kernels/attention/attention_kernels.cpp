#include "lockstep/kernels/attention/attention_kernels.h"

#include <algorithm>

#include <lockstep/kernels/attention/attention_math.h>
#include <lockstep/kernels/elementwise/math.h>
#include <lockstep/kernels/executor/shared_kernel.h>

// Rows are computed by chunks, whose number depends on the shape alone, so that only a chunk of the weights is in
// memory.

namespace lockstep::kernels {

namespace detail {

using attention::Heads;
using attention::hidden_score;
using attention::MaskView;
using attention::RowPlace;
using attention::WeightDropout;

/// Weights in memory.
constexpr Index chunk_weights = Index{1} << 20;

/// Arguments of all steps. `weights` and `dscores` have the rows of a chunk, which starts at row `first`.
template <class T>
struct AttentionRows {
  template <class Kernel>
  AttentionRows(const Kernel& kernel, const Tensor& chunk)
      : query(kernel.query),
        key(kernel.key),
        value(kernel.value),
        mask(kernel.rule.mask),
        dropout(kernel.rule.dropout_rate, kernel.rule.key, kernel.key.dim(1)),
        scale(kernel.rule.scale),
        is_causal(kernel.rule.is_causal),
        drops(kernel.rule.dropout_rate > 0),
        heads(kernel.query.dim(2)),
        group(heads / kernel.key.dim(2)),
        queries(kernel.query.dim(1)),
        keys(kernel.key.dim(1)),
        size(kernel.query.dim(3)),
        value_size(kernel.value.dim(3)),
        maximum(kernel.maximum.template data<float>()),
        sum(kernel.sum.template data<float>()),
        weights(chunk.data<float>()) {}

  LOCKSTEP_HOST_DEVICE RowPlace place(Index row) const { return {row, heads, queries}; }
  LOCKSTEP_HOST_DEVICE bool hides(const RowPlace& at, Index key_number) const {
    return (is_causal && key_number > at.query) || mask.hides(at.example, at.head, at.query, key_number);
  }
  LOCKSTEP_HOST_DEVICE float score(const RowPlace& at, Index key_number) const {
    if (hides(at, key_number)) return hidden_score;
    float product = 0;
    for (Index k = 0; k < size; ++k)
      product += query.value(at.example, at.query, at.head, k) * key.value(at.example, key_number, at.head / group, k);
    return scale * product;
  }
  LOCKSTEP_HOST_DEVICE float factor(Index row, Index key_number) const {
    return drops ? dropout.factor(row, key_number) : 1.0F;
  }

  Heads<const T> query, key, value;
  MaskView mask;
  WeightDropout dropout;
  float scale;
  bool is_causal, drops;
  Index heads, group, queries, keys, size, value_size;
  float *maximum, *sum, *weights;
  Index first = 0;
};

template <class T>
struct ComputeScores : AttentionRows<T> {
  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = this->first + i / this->keys;
    this->weights[i] = this->score(this->place(row), i % this->keys);
  }
};

/// Replaces a row's scores by weights.
template <class T>
struct SoftmaxOfRow : AttentionRows<T> {
  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index i) const {
    const Index row = this->first + i;
    float* const weights = this->weights + i * this->keys;
    const float top = team.reduce(
        this->keys, hidden_score, [=](Index k) { return weights[k]; }, [](float a, float b) { return b > a ? b : a; });
    const float all = team.reduce(
        this->keys, 0.0F, [=](Index k) { return exp_f32(weights[k] - top); }, [](float a, float b) { return a + b; });
    team.each(this->keys, [&](Index k) { weights[k] = exp_f32(weights[k] - top) / all * this->factor(row, k); });
    team.once([&] {
      this->maximum[row] = top;
      this->sum[row] = all;
    });
  }
};

template <class T>
struct WeighValues : AttentionRows<T> {
  Heads<T> y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i / this->value_size;
    const Index column = i % this->value_size;
    const RowPlace at = this->place(this->first + row);
    float total = 0;
    for (Index k = 0; k < this->keys; ++k)
      total += this->weights[row * this->keys + k] * this->value.value(at.example, k, at.head / this->group, column);
    y.at(at.example, at.query, at.head, column) = static_cast<T>(total);
  }
};

/// The products of a row's result and its gradient.
template <class T>
struct DotOfRow : AttentionRows<T> {
  Heads<const T> y, dy;
  float* dots;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index i) const {
    const RowPlace at = this->place(this->first + i);
    const float dot = team.reduce(
        this->value_size, 0.0F,
        [&](Index k) { return y.value(at.example, at.query, at.head, k) * dy.value(at.example, at.query, at.head, k); },
        [](float a, float b) { return a + b; });
    team.once([&] { dots[i] = dot; });
  }
};

/// Weights, and gradients of scores. Those of keys that the query does not see are 0.
template <class T>
struct DifferentiateScores : AttentionRows<T> {
  Heads<const T> dy;
  const float* dots;
  float* dscores;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index chunk_row = i / this->keys;
    const Index key_number = i % this->keys;
    const Index row = this->first + chunk_row;
    const RowPlace at = this->place(row);
    float dweight = 0;
    for (Index k = 0; k < this->value_size; ++k)
      dweight += dy.value(at.example, at.query, at.head, k) *
                 this->value.value(at.example, key_number, at.head / this->group, k);
    const float weight = exp_f32(this->score(at, key_number) - this->maximum[row]) / this->sum[row];
    const float factor = this->factor(row, key_number);
    this->weights[i] = weight * factor;
    dscores[i] = this->hides(at, key_number) ? 0 : weight * (factor * dweight - dots[chunk_row]);
  }
};

template <class T>
struct GradientOfQueries : AttentionRows<T> {
  const float* dscores;
  Heads<T> dquery;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index row = i / this->size;
    const Index column = i % this->size;
    const RowPlace at = this->place(this->first + row);
    float total = 0;
    for (Index k = 0; k < this->keys; ++k)
      total += dscores[row * this->keys + k] * this->key.value(at.example, k, at.head / this->group, column);
    dquery.at(at.example, at.query, at.head, column) = static_cast<T>(this->scale * total);
  }
};

/// Adds what a chunk's rows contribute to the gradient of the keys or the values, (b, tk, kv_heads, columns) f32: the
/// products of `factors`, of the shape of the weights, and x.
template <class T>
struct AddOverRows : AttentionRows<T> {
  Index end;  ///< of the rows
  const float* factors;
  Heads<const T> x;
  float scale_of_x;
  Index columns;
  float* gradient;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const {
    const Index column = i % columns;
    const Index shared_heads = this->heads / this->group;
    const Index shared_head = i / columns % shared_heads;
    const Index key_number = i / columns / shared_heads % this->keys;
    const Index example = i / columns / shared_heads / this->keys;
    const Index rows = this->group * this->queries;  // that share the head
    const Index begin = (example * shared_heads + shared_head) * rows;
    float total = 0;
    for (Index row = begin < this->first ? this->first : begin; row < end && row < begin + rows; ++row) {
      const RowPlace at = this->place(row);
      total += factors[(row - this->first) * this->keys + key_number] * x.value(example, at.query, at.head, column);
    }
    gradient[i] += scale_of_x * total;
  }
};

struct SetTo0 {
  float* x;
  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { x[i] = 0; }
};

template <class T>
struct Round {
  const float* x;
  T* y;
  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { y[i] = static_cast<T>(x[i]); }
};

/// Calls body(first, rows) for each chunk of rows.
template <class Kernel, class Body>
void for_each_chunk(const Kernel& kernel, const Body& body) {
  const Index all = kernel.maximum.elements();
  const Index chunk = std::max<Index>(1, chunk_weights / kernel.key.dim(1));
  for (Index first = 0; first < all; first += chunk) body(first, std::min(chunk, all - first));
}

template <class Kernel>
Tensor chunk_memory(const Kernel& kernel) {
  const Index keys = kernel.key.dim(1);
  return Tensor::empty({std::min(kernel.maximum.elements(), std::max<Index>(1, chunk_weights / keys)), keys});
}

}  // namespace detail

template <class Executor>
void AttentionByRows::run(Executor& on) const {
  const Tensor weights = detail::chunk_memory(*this);
  visit_real(y.dtype(), [&]<class T>() {
    detail::AttentionRows<T> rows(*this, weights);
    detail::for_each_chunk(*this, [&](Index first, Index count) {
      rows.first = first;
      on.for_each(count * rows.keys, detail::ComputeScores<T>{rows});
      on.teams(count, rows.keys, detail::SoftmaxOfRow<T>{rows});
      on.for_each(count * rows.value_size, detail::WeighValues<T>{rows, detail::Heads<T>(y)});
    });
  });
}

template <class Executor>
void AttentionGradientByRows::run(Executor& on) const {
  const Tensor weights = detail::chunk_memory(*this);
  const Tensor dscores = Tensor::empty(weights.shape());
  const Tensor dots = Tensor::empty({weights.dim(0)});
  const Tensor wide_dkey = dkey.dtype() == DType::f32 ? dkey : Tensor::empty(dkey.shape());
  const Tensor wide_dvalue = dvalue.dtype() == DType::f32 ? dvalue : Tensor::empty(dvalue.shape());
  for (const Tensor* sum_of_rows : {&wide_dkey, &wide_dvalue})
    on.for_each(sum_of_rows->elements(), detail::SetTo0{sum_of_rows->data<float>()});
  visit_real(y.dtype(), [&]<class T>() {
    using detail::Heads;
    detail::AttentionRows<T> rows(*this, weights);
    float* const ds = dscores.data<float>();
    detail::for_each_chunk(*this, [&](Index first, Index count) {
      rows.first = first;
      on.teams(count, rows.value_size,
               detail::DotOfRow<T>{rows, Heads<const T>(y), Heads<const T>(dy), dots.data<float>()});
      on.for_each(count * rows.keys, detail::DifferentiateScores<T>{rows, Heads<const T>(dy), dots.data<float>(), ds});
      on.for_each(count * rows.size, detail::GradientOfQueries<T>{rows, ds, Heads<T>(dquery)});
      on.for_each(dkey.elements(), detail::AddOverRows<T>{rows, first + count, ds, Heads<const T>(query), rule.scale,
                                                          rows.size, wide_dkey.data<float>()});
      on.for_each(dvalue.elements(),
                  detail::AddOverRows<T>{rows, first + count, weights.data<float>(), Heads<const T>(dy), 1,
                                         rows.value_size, wide_dvalue.data<float>()});
    });
    if constexpr (!std::is_same_v<T, float>) {
      on.for_each(dkey.elements(), detail::Round<T>{wide_dkey.data<float>(), dkey.data<T>()});
      on.for_each(dvalue.elements(), detail::Round<T>{wide_dvalue.data<float>(), dvalue.data<T>()});
    }
  });
}

LOCKSTEP_SHARED_KERNEL(AttentionByRows)
LOCKSTEP_SHARED_KERNEL(AttentionGradientByRows)

}  // namespace lockstep::kernels
