#include <algorithm>
#include <cmath>

#include <lockstep/kernels/common/philox.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t block_size = 4;            // numbers of a Philox block
constexpr std::int64_t blocks_per_chunk = 16384;  // enough to pay for handing a chunk to a thread

/// Uniform in [-limit, limit): the upper 24 bits of a word, all that an f32 between 0.5 and 1 can hold.
float symmetric(std::uint32_t word, float limit) {
  const float unit = static_cast<float>(word >> 8) * 0x1p-24F;
  return (2.0F * unit - 1.0F) * limit;
}

/// sqrt(6 / (fan_in + fan_out)) of a kernel.
float glorot_limit(const Shape& kernel) {
  require(kernel.rank() >= 2, "glorot_uniform needs a kernel (..., in, out), got {}", kernel);
  double window = 1;
  for (int axis = 0; axis < kernel.rank() - 2; ++axis) window *= static_cast<double>(kernel[axis]);
  const double fans = window * static_cast<double>(kernel.dim(-2) + kernel.dim(-1));
  return static_cast<float>(std::sqrt(6.0 / fans));
}

}  // namespace

Initializer glorot_uniform(const RandomKey& key) {
  return [key](const Tensor& values) {
    const float limit = glorot_limit(values.shape());
    const RandomSequence sequence(key);
    const std::span<float> out = values.span<float>();
    const auto count = static_cast<std::int64_t>(out.size());
    parallel_for((count + block_size - 1) / block_size, blocks_per_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const PhiloxBlock random = sequence.block(static_cast<std::uint64_t>(block));
        const std::int64_t first = block * block_size;
        const std::int64_t used = std::min(block_size, count - first);
        for (std::int64_t i = 0; i < used; ++i) out[first + i] = symmetric(random.word[i], limit);
      }
    });
  };
}

Initializer zeros() {
  return [](const Tensor& values) { std::ranges::fill(values.span<float>(), 0.0F); };
}

Initializer ones() {
  return [](const Tensor& values) { std::ranges::fill(values.span<float>(), 1.0F); };
}

}  // namespace lockstep
