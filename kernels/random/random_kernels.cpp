#include "lockstep/kernels/random/random_kernels.h"

#include <cmath>

#include <lockstep/kernels/executor/elements.h>
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

/// y[i] = draw(block i / 4 of the sequence, i % 4): four elements from one block of random words.
template <class Draw>
struct DrawFour {
  Draw draw;
  RandomSequence sequence;
  RealElements y;
  Index n;

  LOCKSTEP_HOST_DEVICE void operator()(Index four) const {
    const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(four));
    for (int l = 0; l < 4; ++l)
      if (const Index i = four * 4 + l; i < n) y.set(i, draw(random, l));
  }
};

struct NormalNumber {
  double mean, stddev;
  LOCKSTEP_HOST_DEVICE float operator()(const PhiloxBlock& random, int l) const {
    return static_cast<float>(mean + stddev * standard_normal(random, l));
  }
};

/// Uses the upper 24 bits of a word, as many as an f32 between 0.5 and 1 can hold.
struct UniformNumber {
  double minval, range;
  LOCKSTEP_HOST_DEVICE float operator()(const PhiloxBlock& random, int l) const {
    return static_cast<float>(minval + range * ((random.word[l] >> 8) * 0x1p-24));
  }
};

/// Fills y by blocks.
template <class Executor, class Draw>
void draw_by_fours(Executor& on, const RandomKey& key, const Tensor& y, const Draw& draw) {
  const Index n = y.elements();
  on.for_each((n + 3) / 4, DrawFour<Draw>{draw, RandomSequence(key), RealElements(y), n});
}

/// y[i] = draw(sequence, i).
template <class Draw, class Elements>
struct DrawOne {
  Draw draw;
  RandomSequence sequence;
  Elements y;

  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { y.set(i, draw(sequence, static_cast<std::uint64_t>(i))); }
};

struct TruncatedNumber {
  double mean, stddev;
  LOCKSTEP_HOST_DEVICE float operator()(const RandomSequence& sequence, std::uint64_t i) const {
    return static_cast<float>(mean + stddev * normal_within_two(sequence, i));
  }
};

/// How many of `counts` words are below a threshold.
struct Successes {
  std::uint64_t counts, threshold;
  LOCKSTEP_HOST_DEVICE float operator()(const RandomSequence& sequence, std::uint64_t i) const {
    const std::uint64_t blocks = (counts + 3) / 4;
    std::uint64_t successes = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const PhiloxBlock random = sequence.block(i * blocks + block);
      for (std::uint64_t l = 0; l < 4 && block * 4 + l < counts; ++l) successes += random.word[l] < threshold ? 1 : 0;
    }
    return static_cast<float>(successes);
  }
};

/// The number i of a sequence of 64 random bits each.
LOCKSTEP_HOST_DEVICE inline std::uint64_t wide_word(const RandomSequence& sequence, std::uint64_t i) {
  const PhiloxBlock random = sequence.block(i / 2);
  const auto pair = static_cast<int>(i % 2) * 2;
  return static_cast<std::uint64_t>(random.word[pair]) << 32 | random.word[pair + 1];
}

struct IntegerBelow {
  std::int64_t minval;
  std::uint64_t range;
  LOCKSTEP_HOST_DEVICE std::int64_t operator()(const RandomSequence& sequence, std::uint64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(minval) + wide_word(sequence, i) % range);
  }
};

/// The class at which the sum of the classes' weights exceeds a random share of the whole sum.
template <class T>
struct ClassOfRow {
  const T* logits;
  Index classes, samples;

  LOCKSTEP_HOST_DEVICE Index operator()(const RandomSequence& sequence, std::uint64_t i) const {
    const T* const row = logits + static_cast<Index>(i) / samples * classes;
    auto largest = static_cast<float>(row[0]);
    for (Index k = 1; k < classes; ++k)
      if (const auto logit = static_cast<float>(row[k]); logit > largest) largest = logit;
    double total = 0;
    for (Index k = 0; k < classes; ++k) total += weight(row[k], largest);
    const double threshold = static_cast<double>(wide_word(sequence, i) >> 11) * 0x1p-53 * total;
    double sum = 0;
    for (Index k = 0; k < classes; ++k) {
      sum += weight(row[k], largest);
      if (sum > threshold) return k;
    }
    return 0;
  }
  LOCKSTEP_HOST_DEVICE static double weight(T logit, float largest) {
    return std::exp(static_cast<double>(static_cast<float>(logit)) - static_cast<double>(largest));
  }
};

struct SortingKey {
  LOCKSTEP_HOST_DEVICE std::int64_t operator()(const RandomSequence& sequence, std::uint64_t i) const {
    return static_cast<std::int64_t>(wide_word(sequence, i) >> 16);
  }
};

/// Fills y one by one.
template <class Elements, class Executor, class Draw>
void draw_one_by_one(Executor& on, const RandomKey& key, const Tensor& y, const Draw& draw) {
  on.for_each(y.elements(), DrawOne<Draw, Elements>{draw, RandomSequence(key), Elements(y)});
}

struct CopyIndices {
  const std::int64_t* from;
  std::int64_t* to;
  LOCKSTEP_HOST_DEVICE void operator()(Index i) const { to[i] = from[i]; }
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
  detail::draw_by_fours(on, key, y, detail::NormalNumber{mean, stddev});
}

template <class Executor>
void Uniform::run(Executor& on) const {
  detail::draw_by_fours(on, key, y, detail::UniformNumber{minval, maxval - minval});
}

template <class Executor>
void TruncatedNormal::run(Executor& on) const {
  detail::draw_one_by_one<RealElements>(on, key, y, detail::TruncatedNumber{mean, stddev});
}

template <class Executor>
void RandomIntegers::run(Executor& on) const {
  const auto range = static_cast<std::uint64_t>(maxval) - static_cast<std::uint64_t>(minval);
  detail::draw_one_by_one<IntegerElements>(on, key, y, detail::IntegerBelow{minval, range});
}

template <class Executor>
void Binomial::run(Executor& on) const {
  const auto threshold = static_cast<std::uint64_t>(probability * 0x1p32);
  detail::draw_one_by_one<RealElements>(on, key, y, detail::Successes{static_cast<std::uint64_t>(counts), threshold});
}

template <class Executor>
void Categorical::run(Executor& on) const {
  visit_real(logits.dtype(), [&]<class T>() {
    const detail::ClassOfRow<T> draw{logits.data<T>(), logits.dim(1), y.dim(1)};
    detail::draw_one_by_one<IntegerElements>(on, key, y, draw);
  });
}

template <class Executor>
void Permutation::run(Executor& on) const {
  const Tensor keys = Tensor::empty(y.shape(), DType::i64);
  detail::draw_one_by_one<IntegerElements>(on, key, keys, detail::SortingKey{});
  const SortedKeys sorted = on.sort(keys, Index{1} << 48);
  on.for_each(y.elements(), detail::CopyIndices{sorted.places.data<std::int64_t>(), y.data<std::int64_t>()});
}

LOCKSTEP_SHARED_KERNEL(Dropout)
LOCKSTEP_SHARED_KERNEL(Normal)
LOCKSTEP_SHARED_KERNEL(Uniform)
LOCKSTEP_SHARED_KERNEL(TruncatedNormal)
LOCKSTEP_SHARED_KERNEL(RandomIntegers)
LOCKSTEP_SHARED_KERNEL(Binomial)
LOCKSTEP_SHARED_KERNEL(Categorical)
LOCKSTEP_SHARED_KERNEL(Permutation)

}  // namespace lockstep::kernels
