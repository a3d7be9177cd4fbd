#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/random/dropout_rule.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/kernels/random/random_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t words = 4;         // in one Philox block
constexpr std::int64_t tile = 64;         // blocks computed together, in vectorized loops
constexpr std::int64_t grain_tiles = 64;  // 16,384 elements

/// The words of blocks [first, first + tile), in order.
void random_words(RandomSequence sequence, std::int64_t first, std::uint32_t* out) {
  std::uint32_t by_word[words][tile];
  for (std::int64_t i = 0; i < tile; ++i) {
    const PhiloxBlock block = sequence.block(static_cast<std::uint64_t>(first + i));
    for (int w = 0; w < words; ++w) by_word[w][i] = block.word[w];
  }
  for (std::int64_t i = 0; i < tile; ++i)
    for (int w = 0; w < words; ++w) out[i * words + w] = by_word[w][i];
}

// `f` is passed by value: if the loop read it through a pointer, the stores to y might change it, and the loop would
// not be vectorized.
template <class T>
void drop(DropoutRule f, const T* x, const std::uint32_t* random, std::int64_t n, T* y) {
  for (std::int64_t i = 0; i < n; ++i) cpu::store(y[i], f(cpu::value_of(x[i]), random[i]));
}

}  // namespace

void kernels::Dropout::on_cpu() const {
  const std::int64_t count = y.elements();
  constexpr std::int64_t elements = tile * words;
  const DropoutRule f(rate);
  const RandomSequence sequence(key);
  visit_real(y.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel_for((count + elements - 1) / elements, grain_tiles, [=](std::int64_t begin, std::int64_t end) {
      std::uint32_t random[elements];
      for (std::int64_t t = begin; t < end; ++t) {
        random_words(sequence, t * tile, random);
        const std::int64_t first = t * elements;
        drop(f, from + first, random, std::min(elements, count - first), to + first);
      }
    });
  });
}

}  // namespace lockstep
