#include "lockstep/kernels/random/random_kernels.h"

#include <lockstep/kernels/elementwise/elementwise_grid.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/random/dropout_rule.h>
#include <lockstep/kernels/random/normal_rule.h>
#include <lockstep/kernels/random/philox.h>

namespace lockstep::kernels {

namespace detail {

/// Processes four elements with one block of random words.
template <class T>
struct Dropout {
  DropoutRule rule;
  RandomSequence sequence;
  const T* x;
  T* y;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(four));
    for (int l = 0; l < 4; ++l)
      if (const Index i = four * 4 + l; i < n) y[i] = static_cast<T>(rule(static_cast<float>(x[i]), random.word[l]));
  }
};

/// Draws four elements from one block of random words.
template <class T>
struct Normal {
  double mean, stddev;
  RandomSequence sequence;
  T* y;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(four));
    for (int l = 0; l < 4; ++l)
      if (const Index i = four * 4 + l; i < n)
        y[i] = static_cast<T>(static_cast<float>(mean + stddev * standard_normal(random, l)));
  }
};

}  // namespace detail

template <class Executor>
void Dropout::run(Executor& on) const {
  const Index n = y.elements();
  visit_real(y.dtype(), [&]<class T>() {
    on.for_each((n + 3) / 4, detail::Dropout<T>{DropoutRule(rate), RandomSequence(key), x.data<T>(), y.data<T>(), n});
  });
}

template <class Executor>
void Normal::run(Executor& on) const {
  const Index n = y.elements();
  visit_real(y.dtype(), [&]<class T>() {
    on.for_each((n + 3) / 4, detail::Normal<T>{mean, stddev, RandomSequence(key), y.data<T>(), n});
  });
}

LOCKSTEP_SHARED_KERNEL(Dropout)
LOCKSTEP_SHARED_KERNEL(Normal)

}  // namespace lockstep::kernels
