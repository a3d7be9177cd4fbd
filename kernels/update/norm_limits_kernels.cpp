#include <cmath>
#include <utility>

#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/executor/strided.h>
#include <lockstep/kernels/update/norm_limits_math.h>
#include <lockstep/kernels/update/update_kernels.h>

// LimitNorms: one pass computes the vectors' norms, one scales the vectors.

namespace lockstep::kernels {

namespace detail {

/// A loop over every second axis of a dense shape, starting with axis `first`.
inline StridedLoop<1> every_second_axis(const Shape& shape, int first) {
  const Shape all = shape.dense_strides();
  Shape sizes;
  Shape strides;
  for (int axis = first; axis < shape.rank(); axis += 2) {
    sizes.push_back(shape[axis]);
    strides.push_back(all[axis]);
  }
  return {sizes, {strides}};
}

/// Positions of the vectors' elements: element i of vector (o, k) is at vectors(o) + elements(i) + k.
struct VectorPlaces {
  StridedIndex<1> vectors, elements;
  Index outer, n, inner;

  VectorPlaces(StridedLoop<1> kept, const StridedLoop<1>& summed)
      : vectors(kept), elements(summed), outer(kept.shape.elements()), n(summed.shape.elements()), inner(1) {
    // Contiguous vectors are read together.
    const int last = kept.inner_axis();
    if (kept.inner_stride(0) != 1) return;
    inner = std::exchange(kept.shape[last], 1);
    vectors = StridedIndex<1>(kept);
    outer /= inner;
  }
  LOCKSTEP_HOST_DEVICE Index operator()(Index o, Index i, Index k) const {
    return vectors(o).of[0] + elements(i).of[0] + k;
  }
};

struct NormFactors : SumOf<double> {
  VectorPlaces places;
  NormLimits limits;
  const float* x;
  float* factors;

  LOCKSTEP_HOST_DEVICE double load(Index o, Index i, Index k) const {
    const auto value = static_cast<double>(x[places(o, i, k)]);
    return value * value;
  }
  LOCKSTEP_HOST_DEVICE void finish(Index o, Index k, double squares) const {
    factors[o * places.inner + k] = static_cast<float>(norm_factor(limits, std::sqrt(squares)));
  }
};

struct ScaledVectors {
  VectorPlaces places;
  const float* factors;
  float* x;

  LOCKSTEP_HOST_DEVICE void operator()(Index element) const {
    const Index k = element % places.inner;
    const Index i = element / places.inner % places.n;
    const Index o = element / places.inner / places.n;
    x[places(o, i, k)] *= factors[o * places.inner + k];
  }
};

}  // namespace detail

template <class Executor>
void LimitNorms::run(Executor& on) const {
  if (x.elements() == 0) return;
  const detail::VectorPlaces places(detail::every_second_axis(x.shape(), 1 - first),
                                    detail::every_second_axis(x.shape(), first));
  float* const to = x.data<float>();
  const Tensor factors = Tensor::empty({places.outer * places.inner});
  float* const factor = factors.data<float>();
  reduce_middle(on, places.outer, places.n, places.inner, detail::NormFactors{{}, places, limits, to, factor});
  on.for_each(x.elements(), detail::ScaledVectors{places, factor, to});
}

LOCKSTEP_SHARED_KERNEL(LimitNorms)

}  // namespace lockstep::kernels
